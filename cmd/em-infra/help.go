package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/terminal"
)

// helpWidth is the width of the help of a command, on a terminal and in a pipe.
const helpWidth = terminal.Columns - 1

// fitHelp wraps the help of all commands.
func fitHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	fitLong(root)
}

func fitLong(command *cobra.Command) {
	command.Long = fitted(command.Long)
	for _, child := range command.Commands() {
		fitLong(child)
	}
}

// fitted returns paragraphs with as many words in each line as fit.
func fitted(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, paragraph := range paragraphs {
		var lines []string
		current := ""
		for word := range strings.FieldsSeq(paragraph) {
			if current != "" && len(current)+1+len(word) > helpWidth {
				lines, current = append(lines, current), ""
			}
			current = strings.TrimPrefix(current+" "+word, " ")
		}
		paragraphs[i] = strings.Join(append(lines, current), "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}
