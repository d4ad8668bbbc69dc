package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/forge"
	"github.com/em-infra/em-infra/operator"
)

// longestReport is how much of a report goes into an issue, in bytes. GitHub refuses a text of more than 65,536 characters.
const longestReport = 60_000

func newCICommentCommand() *cobra.Command {
	var stack string
	command := &cobra.Command{
		Use:   "comment --stack STACK < FILE",
		Short: "Write a preview as the comment on a change; it is edited and not repeated",
		Long: `Write what preview --output markdown has printed as the comment on the pull request or merge request of this job. The comment of
an earlier run is edited. If the input is empty, the preview failed, and the comment says so.`,
		Example: "  em-infra preview --stack k3s-dev --output markdown | em-infra ci comment --stack k3s-dev",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return writeComment(command.Context(), command.InOrStdin(), stack)
		},
	}
	bindStackName(command, &stack)
	return command
}

// bindStackName adds the flag with the name of a stack that is not opened.
func bindStackName(command *cobra.Command, stack *string) {
	command.Flags().StringVar(stack, "stack", "", "the stack, e.g. k3s-dev")
	completeFlag(command, "stack", completeStack)
}

var errWhichStack = errors.New("no stack is named: add --stack NAME, e.g. --stack k3s-dev")

func writeComment(ctx context.Context, in io.Reader, stack string) error {
	if stack == "" {
		return refused(errWhichStack)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	marker := operator.CommentMarker(stack)
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		text = fmt.Appendf(nil, "%s\n### %s: the preview failed\n\nThe log of its job says why.\n", marker, stack)
	case !bytes.HasPrefix(text, []byte(marker)):
		return refused(fmt.Errorf("the input is no preview of %s: give what `em-infra preview --stack %s --output markdown` prints", stack, stack))
	}
	job, err := forge.JobIn(os.Getenv)
	if err != nil {
		return refused(err)
	}
	return job.Comment(ctx, marker, string(text))
}

func newCIIssueCommand() *cobra.Command {
	var (
		stack string
		code  int
	)
	command := &cobra.Command{
		Use:   "issue --stack STACK --exit-code CODE < FILE",
		Short: "Report drift in one issue, which is closed when there is none",
		Long: `Report what drift has printed, by its exit code: 2 opens the issue or edits the open one, and 0 closes it. Any other code is a
failure of drift, which says nothing about the cluster: the issue stays as it is, and this command fails, too.`,
		Example: "  em-infra ci issue --stack k3s-dev --exit-code 2 < drift.txt",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return writeIssue(command.Context(), command.InOrStdin(), stack, code)
		},
	}
	bindStackName(command, &stack)
	command.Flags().IntVar(&code, "exit-code", -1, "the exit code of drift")
	return command
}

func writeIssue(ctx context.Context, in io.Reader, stack string, code int) error {
	if stack == "" {
		return refused(errWhichStack)
	}
	if code != exitOK && code != exitChanges {
		return fmt.Errorf("drift ended with exit code %d, so it is not known whether there is any: its log says why", code)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	job, err := forge.JobIn(os.Getenv)
	if err != nil {
		return refused(err)
	}
	marker := "<!-- em-infra-drift:" + stack + " -->"
	if code == exitOK {
		return job.CloseIssue(ctx, marker)
	}
	return job.OpenIssue(ctx, marker, "Drift of "+stack, marker+"\n"+driftIssue(stack, string(text)))
}

// driftIssue returns the text of the issue, at whose end whole lines are left out if it is too long.
func driftIssue(stack, report string) string {
	report = strings.TrimRight(report, "\n")
	left := 0
	for len(report) > longestReport {
		cut := strings.LastIndex(report, "\n")
		report = report[:max(cut, 0)]
		left++
	}
	if left > 0 {
		report += fmt.Sprintf("\nand %d more lines", left)
	}
	return fmt.Sprintf("What runs differs from the inventory of %s. `em-infra up` puts it back; this issue is closed by the next run that finds no drift.\n\n~~~~\n%s\n~~~~\n", stack, report)
}
