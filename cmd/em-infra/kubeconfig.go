package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// kubeconfigFlags are the flags of kubeconfig.
type kubeconfigFlags struct {
	place          stackFlags
	merge, unmerge bool
	options        operator.KubeconfigMergeOptions
}

func newKubeconfigCommand() *cobra.Command {
	flags := &kubeconfigFlags{}
	command := &cobra.Command{
		Use:   "kubeconfig --stack STACK [--merge | --unmerge]",
		Short: "Show where the kubeconfig of a stack is, or put it into your own",
		Long: `Show where the kubeconfig of a stack is, which its last run has written. Its context has the name of the cluster.

With --merge, cluster, user and context are put into your own kubeconfig: the file of --file, or else the first one in KUBECONFIG, or
~/.kube/config. They carry a mark, by which the next --merge replaces them and --unmerge removes them; nothing else in the file changes, and
an entry of the same name without that mark is refused. The current context changes with --use only. The file is replaced in one step and is
readable by its owner alone; a link to it stays. Before its first change it is copied to a file beside it.

Exit codes: 0 done, 3 nothing was changed: there is no kubeconfig yet, an entry is another's, or the file is broken.`,
		Example: `  export KUBECONFIG=$(em-infra kubeconfig --stack k3s-dev)
  em-infra kubeconfig --stack k3s-dev --merge --use
  em-infra kubeconfig --stack k3s-dev --unmerge`,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(streamsOf(command)) },
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	command.Flags().BoolVar(&flags.merge, "merge", false, "put it into your own kubeconfig")
	command.Flags().BoolVar(&flags.unmerge, "unmerge", false, "remove from your own kubeconfig what --merge has put there")
	command.Flags().StringVar(&flags.options.File, "file", "", "your own kubeconfig (default: the first one in KUBECONFIG, or ~/.kube/config)")
	command.Flags().BoolVar(&flags.options.Use, "use", false, "with --merge: make its context the current one")
	return command
}

func (f *kubeconfigFlags) run(s streams) error {
	switch {
	case f.merge && f.unmerge:
		return refused(errors.New("--merge and --unmerge: which of the two is meant? give one"))
	case !f.merge && (f.options.Use || f.options.File != "" && !f.unmerge):
		return refused(errors.New("--file and --use are for --merge: add it, or leave them out"))
	}
	o, err := f.place.open(s.aside())
	if err != nil {
		return err
	}
	switch {
	case f.merge:
		return f.runMerge(s, o)
	case f.unmerge:
		return f.runUnmerge(s, o)
	}
	file, err := o.Kubeconfig()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, workspace.Nearby(file))
	return err
}

func (f *kubeconfigFlags) runMerge(s streams, o *operator.Operator) error {
	merged, err := o.MergeKubeconfig(f.options)
	if err != nil {
		return err
	}
	tellCopy(s, merged)
	switch {
	case !merged.Changed:
		fmt.Fprintf(s.out, "%s has context %s already, as it is now\n", merged.File, merged.Context)
	case f.options.Use:
		fmt.Fprintf(s.out, "%s: context %s is the current one\n", merged.File, merged.Context)
	default:
		fmt.Fprintf(s.out, "%s: context %s\nnext: kubectl --context %[2]s get nodes\n", merged.File, merged.Context)
	}
	return nil
}

func (f *kubeconfigFlags) runUnmerge(s streams, o *operator.Operator) error {
	unmerged, err := o.UnmergeKubeconfig(f.options)
	if err != nil {
		return err
	}
	tellCopy(s, unmerged)
	if !unmerged.Changed {
		fmt.Fprintf(s.out, "%s has nothing of this stack\n", unmerged.File)
		return nil
	}
	fmt.Fprintf(s.out, "%s: what --merge had put there is removed\n", unmerged.File)
	return nil
}

func tellCopy(s streams, merged *operator.MergedKubeconfig) {
	if merged.Copy != "" {
		fmt.Fprintf(s.out, "%s: a copy as it was before\n", merged.Copy)
	}
}
