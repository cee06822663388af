//go:build !unix

package audioprep

import (
	"errors"
	"os"
)

const canMap = false

func mapSpill(*os.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }
