package engine

import (
	"io"
	"slices"
)

// tee writes to several writers and never fails. A terminal that went away, or a reader that has seen enough, is left
// out from then on: an error would close the pipe that the CLI prints to, and the CLI would die of it in mid-work.
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
