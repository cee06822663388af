package jobs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// A value in the database is a checksum, CRC-32C in four bytes, big-endian, and what it is of.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const checksumBytes = 4

func seal(payload []byte) []byte {
	value := binary.BigEndian.AppendUint32(make([]byte, 0, checksumBytes+len(payload)),
		crc32.Checksum(payload, castagnoli))
	return append(value, payload...)
}

var errChecksum = errors.New("a value's checksum is wrong")

// unseal returns what a value holds, in the value's memory.
func unseal(value []byte) ([]byte, error) {
	if len(value) < checksumBytes || binary.BigEndian.Uint32(value) != crc32.Checksum(value[checksumBytes:], castagnoli) {
		return nil, errChecksum
	}
	return value[checksumBytes:], nil
}

// unsealCopy is unseal for memory that doesn't stay.
func unsealCopy(value []byte) ([]byte, error) {
	payload, err := unseal(value)
	return append([]byte(nil), payload...), err
}

func encodeJob(j *Job) []byte {
	text, err := json.Marshal(j)
	if err != nil { // there's nothing in it that can't be written
		panic(err)
	}
	return seal(text)
}

// decodeJob reads the record of the job id, and refuses one that can't have been written by encodeJob.
func decodeJob(id string, value []byte) (*Job, error) {
	text, err := unseal(value)
	if err != nil {
		return nil, err
	}
	j := &Job{}
	if err := json.Unmarshal(text, j); err != nil {
		return nil, err
	}
	switch {
	case j.ID != id || !validID(id):
		return nil, fmt.Errorf("job %.40q stands under the key %.40q", j.ID, id)
	case !j.State.known():
		return nil, fmt.Errorf("unknown state %.40q", j.State)
	case j.Seq == 0, j.AudioBytes < 0, j.StoredBytes < 0, j.Pieces < 0, j.Segments < 0, j.Heard < 0, j.Length < 0:
		return nil, errors.New("a number is out of its range")
	}
	return j, nil
}

// number is a key that keeps the order of numbers.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// numberOf is the number of a key of eight bytes.
func numberOf(key []byte) (uint64, error) {
	if len(key) != 8 {
		return 0, fmt.Errorf("a numbered key has %d bytes, want 8", len(key))
	}
	return binary.BigEndian.Uint64(key), nil
}
