package bucket

import (
	"context"
	"errors"
	"io"

	"gocloud.dev/blob"
)

// Upload stores a file. The object exists when it is complete: a failure, of the source too, leaves none.
func (b *Bucket) Upload(ctx context.Context, key string, from io.Reader) error {
	sending, cancel := context.WithTimeout(ctx, b.limits.Transfer)
	defer cancel()
	writing, abandon := context.WithCancel(sending)
	defer abandon()
	object, err := b.objects.NewWriter(writing, key, &blob.WriterOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return b.problem(ctx, err)
	}
	source := &source{Reader: from}
	_, err = io.Copy(object, source)
	if err != nil {
		abandon() // else the library stores what was written so far (gocloud.dev v0.46.0, blob.go, uploadAndClose)
	}
	closed := object.Close()
	switch {
	case source.failed != nil:
		return source.failed
	case err != nil:
		return b.problem(ctx, err)
	default:
		return b.problem(ctx, closed)
	}
}

// source is a reader that remembers why it failed.
type source struct {
	io.Reader
	failed error
}

func (s *source) Read(into []byte) (int, error) {
	n, err := s.Reader.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}
