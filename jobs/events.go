package jobs

import (
	"bytes"
	"fmt"
	"strconv"

	bolt "go.etcd.io/bbolt"
)

// Event is one of a job's events.
type Event struct {
	// Number is its place among the job's events, from 1.
	Number uint64
	Data   []byte
}

// appendEvents numbers and keeps events of a job whose record is written next. Those that are nil are left out.
func appendEvents(tx *bolt.Tx, j *Job, events [][]byte) error {
	for _, data := range events {
		if data == nil {
			continue
		}
		b, err := tx.Bucket(bucketEvents).CreateBucketIfNotExists([]byte(j.ID))
		if err != nil {
			return err
		}
		j.Events++
		j.StoredBytes += int64(len(data))
		if err := b.Put(number(j.Events), seal(data)); err != nil {
			return err
		}
	}
	return nil
}

// Events returns up to max events of a job behind a number, 0 for all.
func (s *Store) Events(id string, after uint64, max int) (events []Event, err error) {
	err = s.values(bucketEvents, id, after, func(n uint64, data []byte) bool {
		events = append(events, Event{n, data})
		return len(events) < max
	})
	return events, err
}

// Pieces returns the pieces of a job, in the order in which they came.
func (s *Store) Pieces(id string) (pieces [][]byte, err error) {
	err = s.values(bucketPieces, id, 0, func(_ uint64, data []byte) bool {
		pieces = append(pieces, data)
		return true
	})
	return pieces, err
}

// values calls f with the values of a job in a bucket behind a number, until it returns false.
func (s *Store) values(bucket []byte, id string, after uint64, f func(n uint64, data []byte) bool) error {
	return s.db.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucket).Bucket([]byte(id))
		if b == nil {
			return nil
		}
		c := b.Cursor()
		from := number(after)
		key, value := c.Seek(from)
		if bytes.Equal(key, from) {
			key, value = c.Next()
		}
		for ; key != nil; key, value = c.Next() {
			n, err := numberOf(key)
			if err != nil {
				return &CorruptError{s.db.path, err}
			}
			data, err := unsealCopy(value)
			if err != nil {
				return &CorruptError{s.db.path, err}
			}
			if !f(n, data) {
				return nil
			}
		}
		return nil
	})
}

// ParseEventNumber reads the number that a client says it has seen last, as SSE's Last-Event-ID has it. "" is 0: none.
func ParseEventNumber(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%.40q is not the number of an event", text)
	}
	return n, nil
}
