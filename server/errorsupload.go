package server

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"syscall"

	"hark/jobs"
)

// uploadError maps what reading a request's body failed with.
func uploadError(err error) *apiError {
	var api *apiError
	switch {
	case errors.As(err, &api):
		return api
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &apiError{status: http.StatusRequestTimeout, code: "upload_timeout", cause: err,
			message: "the upload stood still or took too long: send it again over a faster link"}
	}
	return &apiError{status: http.StatusBadRequest, code: "malformed_body", cause: err,
		message: "the request's body ends early or isn't well-formed multipart/form-data"}
}

func fileTooLarge(limit int64) *apiError {
	return &apiError{status: http.StatusRequestEntityTooLarge, code: "file_too_large", param: "file", retry: retryNever,
		message: fmt.Sprintf("the file is larger than %d bytes (%s), the most that this server takes: cut it into parts, or send it as flac or mp3",
			limit, byteSize(limit))}
}

// spoolFailed is for an upload that the server couldn't store, which is no fault of the client's.
func spoolFailed(err error) *apiError {
	cause := fmt.Errorf("spool: %w", err)
	if full := (*jobs.FullError)(nil); errors.As(err, &full) {
		switch {
		case full.Never:
			return fileTooLarge(full.Fits)
		case full.Kept:
			return &apiError{status: http.StatusInsufficientStorage, code: "storage_full",
				retry: retryNever, cause: cause,
				message: fmt.Sprintf("the results that this server keeps leave no room for the job: delete jobs that are over (DELETE /v1/jobs/{id}), or wait until some have expired, which makes room for a file of up to %d bytes (%s)",
					full.Fits, byteSize(full.Fits))}
		}
		return &apiError{status: http.StatusInsufficientStorage, code: "storage_full", retry: retrySoon, cause: cause,
			message: "the jobs of this server take up all the room that they may have: try again after the seconds that Retry-After says"}
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return &apiError{status: http.StatusInsufficientStorage, code: "storage_full", retry: retrySoon, cause: cause,
			message: "the server has no room left for the upload and its samples: try again later, or tell whoever runs it to free its disk"}
	}
	return &apiError{status: http.StatusInternalServerError, code: "storage_failed", cause: cause,
		message: "the server can't store the upload: tell whoever runs it to look at the folder for uploads, its log has the reason under this answer's x-request-id"}
}

func byteSize(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size {
			return strconv.FormatFloat(float64(n)/float64(u.size), 'g', 3, 64) + " " + u.name
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
