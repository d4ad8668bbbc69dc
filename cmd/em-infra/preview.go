package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/preflight"
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
plane, the loss of quorum or other machine secrets are only done when a flag names them, what a cluster is born with never
changes, and the host must be able to bear it, which is asked as preflight asks it.

Nodes that run an image of another schematic or release than the inventory's are named, too; that takes an upgrade, and does
not count as a change.

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
	found, err := f.foresee(ctx, s, given)
	if err != nil {
		return err
	}
	if err := f.write(result, found, s.inPlace); err != nil {
		return err
	}
	switch {
	case found.refusal != "":
		return refused(errors.New(found.refusal))
	case found.hasChanges():
		return changesFound()
	default:
		return nil
	}
}

// foreseen is what a preview found.
type foreseen struct {
	judgement

	images  otherImages
	host    preflight.Report // what is not in order there
	refusal string           // why up would stop; empty when it would not
}

// foresee asks the host what up asks it, while the engine thinks. Where the host refuses, it does not matter that the engine failed.
func (f *previewFlags) foresee(ctx context.Context, s *session, given []risk.Permission) (found foreseen, err error) {
	if err := s.findFormerNames(ctx); err != nil {
		return found, err
	}
	host := s.preflightBeside(ctx)
	found.judgement, found.images, err = f.think(ctx, s)
	report, unasked := host()
	found.host = report.Unsound()
	refusal := hostRefusal(report)
	switch {
	case err != nil && refusal != "":
		return found, errors.Join(checkLines(s.out, found.host, s.inPlace), refused(errors.New(refusal)))
	case err != nil || unasked != nil:
		return found, cmp.Or(err, unasked)
	}
	found.refusal = strings.Trim(found.Refusal(given)+"\n"+refusal, "\n")
	return found, nil
}

// think finds out what up would do, in the state and on the nodes.
func (f *previewFlags) think(ctx context.Context, s *session) (judged judgement, others otherImages, err error) {
	if err := s.foresee(ctx); err != nil {
		return judged, others, err
	}
	seen, err := s.look(ctx)
	if err != nil {
		return judged, others, err
	}
	if judged, err = s.judge(ctx, seen, nil, f.options()...); err != nil {
		return judged, others, err
	}
	others, err = s.otherImages(ctx)
	return judged, others, err
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
	// Checks of the host that are not in order; a failure is among the refusals.
	Checks preflight.Report `json:"checks,omitempty"`
	// Images are the nodes that run another image than the inventory's, which no run changes.
	Images otherImages `json:"images"`
}

func (f *previewFlags) write(out io.Writer, found foreseen, inPlace func(string) string) error {
	if f.output != outputJSON {
		return errors.Join(found.WriteText(out), checkLines(out, found.host, inPlace), found.images.print(out))
	}
	result := previewJSON{
		Assessment: found.Assessment, Changes: found.changes, Refusal: found.refusal, Checks: checksInPlace(found.host, inPlace), Images: found.images,
	}
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
