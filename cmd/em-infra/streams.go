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
