package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
)

// streams are the input and outputs of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func streamsOf(command *cobra.Command) streams {
	return streams{in: command.InOrStdin(), out: command.OutOrStdout(), err: command.ErrOrStderr()}
}

const flagColor = "color"

// bindColor adds the flag for colours to every command.
func bindColor(root *cobra.Command) {
	colors := terminal.ColorAuto
	root.PersistentFlags().Var(&colors, flagColor, "colours: auto, always or never; auto means on a terminal, unless NO_COLOR or CI is set")
	completeFlag(root, flagColor, oneOf(terminal.ColorChoices()...))
}

// colorsOf returns the colour choice of a command line, which is read when that is parsed.
func colorsOf(root *cobra.Command) *terminal.ColorChoice {
	colors, _ := root.PersistentFlags().Lookup(flagColor).Value.(*terminal.ColorChoice)
	return colors
}

// aside returns the streams with progress on the error stream, so that the output contains only the result.
func (s streams) aside() streams {
	s.out = s.err
	return s
}
