package main

import (
	"io"

	"github.com/spf13/cobra"
)

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func streamsOf(command *cobra.Command) streams {
	return streams{in: command.InOrStdin(), out: command.OutOrStdout(), err: command.ErrOrStderr()}
}

// aside are the streams for what is said on the way to a result, which must not stand in it.
func (s streams) aside() streams {
	s.out = s.err
	return s
}
