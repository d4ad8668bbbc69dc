package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/forge"
	"github.com/em-infra/em-infra/internal/pipeline"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newCICommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "ci",
		Short: "Run a stack in a pipeline of GitHub, GitLab or Forgejo",
		Long: `Run a stack in a pipeline of GitHub, GitLab or Forgejo: init writes the pipeline, and its jobs call the others, which find the
forge and the change in the environment of the job.`,
	}
	command.AddCommand(newCIInitCommand(), newCICommentCommand(), newCIIssueCommand())
	return command
}

// ciInitFlags are the flags of ci init.
type ciInitFlags struct {
	place                 stackFlags
	forge, runner, branch string
	overwrite             bool
}

func newCIInitCommand() *cobra.Command {
	var flags ciInitFlags
	command := &cobra.Command{
		Use:   "init --stack STACK --forge github|gitlab|forgejo",
		Short: "Write the pipeline of a stack",
		Long: `Write the pipeline of a stack: a change is validated and rehearsed, and its preview is one comment, which is edited and not repeated;
after the merge, up carries out the plan that was approved, and no other one; once a day drift is looked for, and reported in one
issue, which is closed when there is none. One up runs at a time, and none is cancelled half way.

The runner must reach Proxmox VE and the nodes. docs/ci.md describes the secrets that the pipeline needs and how to protect them.
A pipeline that was edited is not replaced.`,
		Example: "  em-infra ci init --stack k3s-dev --forge github\n  em-infra ci init --stack k3s-dev --forge gitlab --runner homelab",
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(streamsOf(command))
		},
	}
	command.Args, command.ValidArgsFunction = flags.place.takeStack, flags.place.completeArgument
	bindStackName(command, &flags.place.stack)
	command.Flags().StringVar(&flags.forge, "forge", "", "github, gitlab or forgejo")
	completeFlag(command, "forge", oneOf("github", "gitlab", "forgejo"))
	command.Flags().StringVar(&flags.runner, "runner", "self-hosted", "the label, on GitLab the tag, of the runner in the management network")
	command.Flags().StringVar(&flags.branch, "branch", "main", "the branch that up follows")
	command.Flags().BoolVar(&flags.overwrite, "overwrite", false, "replace a pipeline that was edited, too")
	return command
}

func (f *ciInitFlags) run(s streams) error {
	kind, err := forge.ParseKind(f.forge)
	if err != nil {
		return refused(fmt.Errorf("--forge: %w", err))
	}
	w, _, err := f.place.load()
	if err != nil {
		return refused(err)
	}
	made := pipeline.Pipeline{Forge: kind, Stack: w.Stack, Runner: f.runner, Branch: f.branch}
	if err := errors.Join(made.Check(), pipeline.CheckProject(w.Root)); err != nil {
		return refused(err)
	}
	changed, err := made.Write(w.Root, f.overwrite)
	if err != nil {
		return refused(err)
	}
	word := "is as it would be written"
	if changed {
		word = "written"
	}
	fmt.Fprintf(s.out, "%s: %s\n", made.Path(), word)
	return f.advise(s.out, made, w)
}

// advise writes what else the pipeline needs.
func (f *ciInitFlags) advise(out io.Writer, made pipeline.Pipeline, w *workspace.Workspace) error {
	if folder := w.StateFolder(); folder != "" {
		fmt.Fprintf(out, "the state of %s is in a folder of this machine, which no runner has: move it into a bucket with `em-infra state migrate` first\n", w.Stack)
	}
	if made.IsGitLab() {
		included, err := pipeline.Included(w.Root)
		if err != nil {
			return err
		}
		if !included {
			fmt.Fprintf(out, "add to %s:\n%s", pipeline.GitLabFile, pipeline.Include)
		}
	}
	_, err := fmt.Fprintf(out, "next: the secrets and the approval that it needs, in docs/ci.md\n")
	return err
}
