package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/spf13/cobra"

	formats "github.com/em-infra/em-infra/internal/output"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

// previewFlags are the flags of preview.
type previewFlags struct {
	place      stackFlags
	allowed    allowances
	diff       bool
	output     string
	importFile string

	gitlabReport string
}

func newPreviewCommand() *cobra.Command {
	var flags previewFlags
	command := &cobra.Command{
		Use:   "preview --stack STACK",
		Short: "Show what up would do, and what that means; exit code 2 when it would do something",
		Long: `Show what up would do and what that means for nodes, etcd's quorum and data, and change nothing. The exit code is 0 if
nothing would change, 2 if something would, and 3 if up would refuse it. up refuses to replace or delete a control plane, to
lose the quorum or to change the machine secrets unless a flag names it; it refuses to change facts that are fixed when a
cluster is created; and it refuses if the checks of preflight fail.

Nodes that run an image of another schematic or release than the inventory's are named, too; up upgrades them in place, which is
a change. With --refresh=false, a node that was upgraded by hand does not count as one.

The fingerprint identifies the plan: up --plan FINGERPRINT carries out this plan, and refuses if up would do something
else by then. --output markdown writes the preview as a comment for reviewers, for a forge; it contains no secret.

The host is read first, so that changes made by hand are found. --refresh=false compares with the state only.`,
		Example: `  em-infra preview --stack k3s-dev --lab
  em-infra preview --stack k3s-dev --output markdown > comment.md
  em-infra preview --stack k3s-dev --allow-replace k3s-dev-control-1`,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	flags.allowed.bind(command, &flags.place)
	bindOutput(command, &flags.output, outputMarkdown)
	command.Flags().StringVar(&flags.importFile, "import-file", "", "write the resources that would be created into a file for 'pulumi import --file'; fill in their IDs first")
	command.Flags().StringVar(&flags.gitlabReport, "gitlab-report", "", "also write the numbers of resources that change into a file, as the terraform report of GitLab")
	flags.place.bindRefresh(command)
	flags.place.bindKeep(command)
	command.Flags().BoolVar(&flags.diff, "diff", false, "also show the engine's own preview, with every property that differs")
	return command
}

func (f *previewFlags) run(ctx context.Context, streams streams) error {
	if err := checkOutput(f.output, outputMarkdown); err != nil {
		return err
	}
	allowed, err := f.allowed.permissions()
	if err != nil {
		return refused(err)
	}
	result := streams.out
	if f.output != formats.Text {
		streams.out = streams.err // the standard output contains only the result
	}
	f.place.verbose = f.diff
	o, err := f.place.open(streams)
	if err != nil {
		return err
	}
	found, err := o.Preview(ctx, operator.PreviewOptions{Allow: allowed, Diff: f.diff, ImportFile: f.importFile, SkipRefresh: !f.place.refresh})
	if err != nil {
		return err
	}
	if err := f.write(result, found); err != nil {
		return err
	}
	if f.gitlabReport != "" {
		if err := writeGitLabReport(f.gitlabReport, found); err != nil {
			return err
		}
	}
	return found.Err()
}

// previewJSON is the JSON form of the result.
type previewJSON struct {
	operator.Assessment
	// Changes are the numbers of resources by their operation.
	Changes map[apitype.OpType]int `json:"changes"`
	// Fingerprint identifies the plan: up --plan carries out the plan with this fingerprint, and no other one.
	Fingerprint string `json:"fingerprint"`
	// Refusal is the reason why up would stop; empty if it would not.
	Refusal string `json:"refusal,omitempty"`
	// Checks are the warnings and failures of the preflight; failures are part of the refusal, too.
	Checks operator.Checks `json:"checks,omitempty"`
	// Images are the nodes that run another image than the inventory's; an up upgrades them.
	Images operator.OtherImages `json:"images"`
}

func (f *previewFlags) write(out io.Writer, found *operator.Preview) error {
	switch f.output {
	case outputMarkdown:
		return found.WriteMarkdown(terminal.Raw(out))
	case formats.Text:
		err := found.WriteText(out)
		found.Host.At(here()).WriteText(out)
		found.Images.Besides(found.Assessment).WriteText(out)
		if err != nil || !found.HasChanges() {
			return err
		}
		_, err = fmt.Fprintf(out, "the fingerprint of this plan, for up --plan: %s\n", found.Fingerprint)
		return err
	}
	result := previewJSON{
		Assessment: found.Assessment, Changes: found.Changes, Fingerprint: found.Fingerprint, Refusal: found.Refusal, Checks: found.Host.At(here()), Images: found.Images,
	}
	if result.Findings == nil {
		result.Findings = []operator.Finding{}
	}
	return writeJSON(out, result)
}
