package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops/kubernetesupgrade"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/versions"
)

func newClusterCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "cluster",
		Short: "Operations on a cluster, called by the program",
	}
	command.AddCommand(newUpgradeKubernetesCommand())
	return whileCallerReads(command)
}

func newUpgradeKubernetesCommand() *cobra.Command {
	var (
		to                     string
		controlPlanes, workers []string
	)
	command := &cobra.Command{
		Use:   "upgrade-kubernetes --to VERSION --control-plane NAME=ADDRESS... [--worker NAME=ADDRESS]...",
		Short: "Upgrade the Kubernetes of a cluster, one component of one node after the other",
		Long: `Upgrade the Kubernetes of a cluster: removed flags, feature gates and APIs are
looked for, images pulled, and then the API servers upgraded one control plane
after the other, the controller managers, the schedulers, the manifests of
Talos, and the kubelets. What runs already is skipped: run it again after an
error, and it goes on. The talosconfig is read from ` + talosconfigVariable + `.`,
		Example: "  " + talosconfigVariable + `="$(pulumi stack output talosconfig --show-secrets)" em-infra cluster upgrade-kubernetes --to v1.35.5 --control-plane k3s-dev-control-1=192.168.20.11 --worker k3s-dev-worker-1=192.168.20.21`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			upgrade := kubernetesupgrade.Upgrade{Progress: command.OutOrStdout()}
			if upgrade.To, err = versions.Parse(to); err != nil {
				return refused(fmt.Errorf("--to: %w", err))
			}
			if upgrade.Nodes, err = namedNodes(controlPlanes, workers); err != nil {
				return refused(err)
			}
			if upgrade.Talosconfig, err = clusterCredentials(); err != nil {
				return err
			}
			return upgrade.Run(command.Context())
		},
	}
	command.Flags().StringVar(&to, "to", "", "the version that everything runs in the end, e.g. v1.35.5")
	command.Flags().StringSliceVar(&controlPlanes, "control-plane", nil, "a control plane; may be given more than once")
	command.Flags().StringSliceVar(&workers, "worker", nil, "a worker; may be given more than once")
	return command
}

// namedNodes reads nodes written as NAME=ADDRESS, control planes first.
func namedNodes(controlPlanes, workers []string) ([]rolling.Node, error) {
	if len(controlPlanes) == 0 {
		return nil, errors.New("no control plane is named: give each as --control-plane NAME=ADDRESS")
	}
	var nodes []rolling.Node
	for i, text := range append(append([]string{}, controlPlanes...), workers...) {
		name, at, _ := strings.Cut(text, "=")
		address, err := netip.ParseAddr(at)
		if err != nil || name == "" {
			return nil, fmt.Errorf("%q is no node: give it as NAME=ADDRESS", text)
		}
		nodes = append(nodes, rolling.Node{Name: name, Address: address, ControlPlane: i < len(controlPlanes)})
	}
	return nodes, nil
}
