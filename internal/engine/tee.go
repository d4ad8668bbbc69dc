package engine

import (
	"io"
	"slices"
)

// tee writes to several writers and never fails. A writer that fails, such as a closed terminal, is skipped from then on: an
// error would close the pipe of the CLI's output, which would end the CLI in the middle of an operation.
type tee struct{ writers []io.Writer }

func newTee(first io.Writer, others []io.Writer) *tee {
	return &tee{writers: append([]io.Writer{first}, others...)}
}

func (t *tee) Write(text []byte) (int, error) {
	t.writers = slices.DeleteFunc(t.writers, func(writer io.Writer) bool {
		_, err := writer.Write(text)
		return err != nil
	})
	return len(text), nil
}
