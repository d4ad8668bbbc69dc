// Package object has what is known of a file in a bucket, without the client of a server. Pure.
package object

import "errors"

// ErrNotFound means that a bucket or an object does not exist.
var ErrNotFound = errors.New("not found")

// Object is a file in a bucket.
type Object struct {
	// Key is its name, relative to the folder.
	Key string
	// Bytes is its size.
	Bytes int64
}
