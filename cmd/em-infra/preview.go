package main

import (
	"context"
	"errors"
	"io"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/risk"
)

// previewFlags are the flags of preview.
type previewFlags struct {
	place      stackFlags
	allowed    allowances
	diff       bool
	output     string
	importFile string
}

func newPreviewCommand() *cobra.Command {
	var flags previewFlags
	command := &cobra.Command{
		Use:   "preview --stack STACK",
		Short: "Show what up would do, and what that means; exit code 2 when it would do something",
		Long: `Show what up would do and what that means for nodes, etcd's quorum and data, and do nothing. The exit code is 0 when
nothing would change, 2 when something would, and 3 when up would refuse it: the replacement or deletion of a control
plane, the loss of quorum or other machine secrets are only done when a flag names them, and what a cluster is born with
never changes.

Nodes that run an image of another schematic than the inventory's are named, too; that takes an upgrade, and does not count
as a change.

A preview compares the inventory with what is there: the host is read first, so that what was changed by hand is found.
--refresh=false compares with the state alone.`,
		Example: `  em-infra preview --stack k3s-dev --lab
  em-infra preview --stack k3s-dev --allow-replace k3s-dev-control-1`,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	flags.allowed.bind(command, &flags.place)
	bindOutput(command, &flags.output)
	command.Flags().StringVar(&flags.importFile, "import-file", "", "write what would be made into a file that 'pulumi import --file' takes, once its IDs are filled in")
	flags.place.bindRefresh(command)
	flags.place.bindKeep(command)
	command.Flags().BoolVar(&flags.diff, "diff", false, "show the engine's own preview, too, with every property that differs")
	return command
}

func (f *previewFlags) run(ctx context.Context, streams streams) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	given, err := f.allowed.permissions()
	if err != nil {
		return refused(err)
	}
	result := streams.out
	if f.output == outputJSON {
		streams.out = streams.err // the result alone is for a program
	}
	f.place.verbose = f.diff
	s, err := openSession(ctx, f.place, want{newStack: true}, streams)
	if err != nil {
		return err
	}
	if err := s.findFormerNames(ctx); err != nil {
		return err
	}
	if err := s.foresee(ctx); err != nil {
		return err
	}
	seen, err := s.look(ctx)
	if err != nil {
		return err
	}
	judged, err := s.judge(ctx, seen, nil, f.options()...)
	if err != nil {
		return err
	}
	others, err := s.otherImages(ctx)
	if err != nil {
		return err
	}
	refusal := judged.Refusal(given)
	if err := f.write(result, judged, others, refusal); err != nil {
		return err
	}
	switch {
	case refusal != "":
		return refused(errors.New(refusal))
	case judged.hasChanges():
		return changesFound()
	default:
		return nil
	}
}

func (f *previewFlags) options() []optpreview.Option {
	var options []optpreview.Option
	if f.importFile != "" {
		options = append(options, optpreview.ImportFile(f.importFile))
	}
	if f.diff {
		options = append(options, optpreview.Diff())
	}
	return options
}

// previewJSON is the result for a program.
type previewJSON struct {
	risk.Assessment
	// Changes are the resources by what would be done to them.
	Changes map[apitype.OpType]int `json:"changes"`
	// Refusal is why up would stop; empty when it would not.
	Refusal string `json:"refusal,omitempty"`
	// Images are the nodes that run another image than the inventory's, which no run changes.
	Images otherImages `json:"images"`
}

func (f *previewFlags) write(out io.Writer, judged judgement, others otherImages, refusal string) error {
	if f.output != outputJSON {
		return errors.Join(judged.WriteText(out), others.print(out))
	}
	result := previewJSON{Assessment: judged.Assessment, Changes: judged.changes, Refusal: refusal, Images: others}
	if result.Findings == nil {
		result.Findings = []risk.Finding{}
	}
	return writeJSON(out, result)
}

func hasChanges(summary map[apitype.OpType]int) bool {
	for operation, count := range summary {
		if operation != apitype.OpSame && operation != apitype.OpRead && count > 0 {
			return true
		}
	}
	return false
}
