// Package record is how rows of the pool stand in the tables: which columns a
// noun has, how it is read and how it is written, and the facts that a decision
// looks at, loaded by their keys.
//
// Times are Unix milliseconds and 0 for none, ids and digests their text and
// empty for none. A NULL, which only an outer join gives, reads as the zero
// value. Nothing here decides; statements name the owner in every key. The
// package keeps nothing but Memory, which is safe for concurrent use.
package record

import (
	"database/sql"
	"encoding"
	"fmt"
	"time"
)

// Text reads a column into an id, a digest or a set.
func Text(into encoding.TextUnmarshaler) sql.Scanner { return text{into} }

type text struct{ into encoding.TextUnmarshaler }

func (t text) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		return t.into.UnmarshalText(nil)
	case string:
		return t.into.UnmarshalText([]byte(v))
	case []byte:
		return t.into.UnmarshalText(v)
	}
	return unexpected(src, "text")
}

// Claimed reads a column whose text may have been tampered with; what is not
// well formed reads as the zero value.
func Claimed(into encoding.TextUnmarshaler) sql.Scanner { return claimed{text{into}} }

type claimed struct{ text }

func (c claimed) Scan(src any) error {
	if c.text.Scan(src) != nil {
		return c.text.Scan(nil)
	}
	return nil
}

// Word reads a column into a string or a type of words.
func Word[T ~string](into *T) sql.Scanner { return word[T]{into} }

type word[T ~string] struct{ into *T }

func (w word[T]) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*w.into = ""
	case string:
		*w.into = T(v)
	case []byte:
		*w.into = T(v)
	default:
		return unexpected(src, "a word")
	}
	return nil
}

// Moment reads a column into a time.
func Moment(into *time.Time) sql.Scanner { return moment{into} }

type moment struct{ into *time.Time }

func (m moment) Scan(src any) error {
	var ms int64
	if err := (number{&ms}).Scan(src); err != nil {
		return err
	}
	*m.into = timeOf(ms)
	return nil
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// Number reads a whole number.
func Number(into *int64) sql.Scanner { return number{into} }

type number struct{ into *int64 }

func (n number) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*n.into = 0
	case int64:
		*n.into = v
	default:
		return unexpected(src, "a number")
	}
	return nil
}

// Flag reads a number as yes or no.
func Flag(into *bool) sql.Scanner { return flag{into} }

type flag struct{ into *bool }

func (f flag) Scan(src any) error {
	var n int64
	err := (number{&n}).Scan(src)
	*f.into = n != 0
	return err
}

func unexpected(src any, what string) error {
	return fmt.Errorf("a column holds a %T, not %s", src, what)
}

// Millis is how a time is stored.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Bytes is how bytes that must be there are stored; nil would be NULL.
func Bytes(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// one is the error of a statement that must change exactly one row.
func one(changed int64, err error) error {
	if err == nil && changed != 1 {
		err = fmt.Errorf("a statement changed %d rows instead of one", changed)
	}
	return err
}
