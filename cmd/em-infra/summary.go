package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

func (s *session) kubeconfigFile() string {
	return filepath.Join(s.workspace.Credentials, "kubeconfig")
}

func (s *session) talosconfigFile() string {
	return filepath.Join(s.workspace.Credentials, "talosconfig")
}

// summarize writes the credentials where only their owner reads them, and says what stands and what to do next.
func (s *session) summarize(outputs stacks.Outputs) error {
	err := errors.Join(
		os.WriteFile(s.kubeconfigFile(), []byte(outputs.Kubeconfig), 0o600),
		os.WriteFile(s.talosconfigFile(), []byte(outputs.Talosconfig), 0o600),
	)
	if err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	cluster := s.inventory.Cluster
	fmt.Fprintf(s.out, "\n%s is up · %s · Kubernetes %s · Talos %s · %s\n", outputs.ClusterName, outputs.KubernetesEndpoint,
		cluster.Kubernetes.Version, cluster.Talos.Version, time.Since(s.started).Round(100*time.Millisecond))
	table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, node := range s.inventory.Nodes {
		fmt.Fprintf(table, "  %s\t%s\t%s\tVM %d on %s\n", node.Name, node.Role, outputs.NodeAddresses[node.Name], outputs.VMIDs[node.Name], node.Host)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "  kubeconfig   %s\n  talosconfig  %s\n", workspace.Nearby(s.kubeconfigFile()), workspace.Nearby(s.talosconfigFile()))
	fmt.Fprintf(s.out, "next: %s · %s\n", typed("preview %s", s.place), typed("destroy %s", s.place))
	return nil
}

// forgetCredentials removes what opens a cluster that is gone.
func (s *session) forgetCredentials() error {
	for _, file := range []string{s.kubeconfigFile(), s.talosconfigFile()} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
