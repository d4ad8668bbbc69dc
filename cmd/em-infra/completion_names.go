package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/operator"
)

// onlyFirst completes the argument of a command that takes only one.
func onlyFirst(values cobra.CompletionFunc) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return values(command, args, begun)
	}
}

// completeArgument completes the stack of a command that takes it as its argument.
func (f *stackFlags) completeArgument(command *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if f.stack != "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return onlyFirst(completeStack)(command, args, begun)
}

// named returns the flags with the stack from the arguments: during completion, no command has read the arguments yet.
func (f *stackFlags) named(args []string) stackFlags {
	flags := *f
	if flags.stack == "" && len(args) == 1 {
		flags.stack = args[0]
	}
	return flags
}

// completeNodes completes the nodes of the inventory that are not named yet; none if the inventory is invalid, or no cluster's.
func (f *stackFlags) completeNodes(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.fromContent(args, func(content operator.Content) []string {
		inv, isPlatform := content.(*inventory.Inventory)
		if !isPlatform {
			return nil
		}
		var names []string
		for _, node := range inv.Nodes {
			if !slices.Contains(args, node.Name) {
				names = append(names, node.Name)
			}
		}
		return names
	})
}

// guests are the nodes of a cluster, or the systems of a stack of systems. A stack of hosts has none.
type guests interface {
	FindVMID(guest string) (int, error)
	GuestNames() []string
}

// completeGuests completes the guests of the inventory.
func (f *stackFlags) completeGuests(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.fromContent(args, func(content operator.Content) []string {
		if all, hasGuests := content.(guests); hasGuests {
			return all.GuestNames()
		}
		return nil
	})
}

// completeHosts completes the hosts of the inventory.
func (f *stackFlags) completeHosts(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.fromContent(args, operator.Content.Hosts)
}

func (f *stackFlags) fromContent(args []string, names func(operator.Content) []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	flags := f.named(args)
	o, err := flags.open(streams{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	content, err := o.Content()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(content), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeBackups completes the backups of the state, newest first.
func (f *stackFlags) completeBackups(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.completeCopies(args, func(o *operator.Operator) (names []cobra.Completion, err error) {
		backups, err := o.Backups()
		for _, b := range backups {
			names = append(names, b.Name)
		}
		return names, err
	})
}

// completeSnapshots completes the snapshots of etcd, newest first.
func (f *stackFlags) completeSnapshots(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.completeCopies(args, func(o *operator.Operator) (names []cobra.Completion, err error) {
		snapshots, err := o.EtcdSnapshots()
		for _, s := range snapshots {
			names = append(names, s.Name)
		}
		return names, err
	})
}

// completeCopies completes the names of copies in their order.
func (f *stackFlags) completeCopies(args []string, list func(*operator.Operator) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	flags := f.named(args)
	o, err := flags.open(streams{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := list(o)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeFaultKinds completes the faults that a lab supports, with their effects.
func completeFaultKinds(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var kinds []cobra.Completion
	for _, kind := range lab.FaultKinds() {
		kinds = append(kinds, described(kind))
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp
}

// completeSetFaults completes the faults that are set in a lab that runs.
func (f *stackFlags) completeSetFaults(command *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	w, err := f.workspace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	set, err := faultsOf(command.Context(), w)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for _, state := range set {
		names = append(names, state.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

func described(kind fault.Kind) cobra.Completion {
	return cobra.CompletionWithDesc(kind.Name, kind.About)
}

// completeReleases completes the releases of Proxmox VE that are known.
func completeReleases(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var releases []cobra.Completion
	for _, release := range schema.Releases() {
		releases = append(releases, string(release))
	}
	return releases, cobra.ShellCompDirectiveNoFileComp
}
