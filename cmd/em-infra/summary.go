package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/status"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

func (s *session) kubeconfigFile() string {
	return filepath.Join(s.workspace.Credentials, "kubeconfig")
}

func (s *session) talosconfigFile() string {
	return filepath.Join(s.workspace.Credentials, "talosconfig")
}

// outputs are those of a stack that was brought up whole.
func (s *session) outputs(ctx context.Context) (stacks.Outputs, error) {
	exported, err := s.readState(ctx)
	if err != nil {
		return stacks.Outputs{}, err
	}
	values, err := engine.Outputs(exported.Deployment)
	if err != nil {
		return stacks.Outputs{}, err
	}
	return stacks.ParseOutputs(values)
}

// keepCredentials writes the credentials where only their owner reads them.
func (s *session) keepCredentials(outputs stacks.Outputs) error {
	err := errors.Join(
		os.WriteFile(s.kubeconfigFile(), []byte(outputs.Kubeconfig), 0o600),
		os.WriteFile(s.talosconfigFile(), []byte(outputs.Talosconfig), 0o600),
	)
	if err != nil {
		return fmt.Errorf("write credentials: %w", err)
	}
	return nil
}

// salvageCredentials keeps those of a cluster that stands although its run failed, in an addon for instance: the stack has no
// outputs then, the component has. It says so, and nothing where there is no cluster yet.
func (s *session) salvageCredentials(ctx context.Context) error {
	exported, err := s.readState(ctx)
	if err != nil {
		return err
	}
	kubeconfig, talosconfig, err := credentialsIn(exported.Deployment)
	if err != nil || kubeconfig == "" || talosconfig == "" {
		return err
	}
	if err := s.keepCredentials(stacks.Outputs{Kubeconfig: kubeconfig, Talosconfig: talosconfig}); err != nil {
		return err
	}
	fmt.Fprintln(s.out)
	tellNext(s.out, "the cluster stands nevertheless", "kubectl --kubeconfig "+shellWord(workspace.Nearby(s.kubeconfigFile()))+" get nodes")
	return nil
}

// credentialsIn are those of the cluster in a state with its secrets in clear; empty where there is none yet.
func credentialsIn(deployment apitype.DeploymentV3) (kubeconfig, talosconfig string, err error) {
	for _, resource := range deployment.Resources {
		if resource.Type != "em-infra:index:TalosCluster" {
			continue
		}
		plain, err := engine.Unseal(resource.Outputs)
		if err != nil {
			return "", "", err
		}
		outputs, _ := plain.(map[string]any)
		kubeconfig, _ = outputs["kubeconfig"].(string)
		talosconfig, _ = outputs["talosconfig"].(string)
	}
	return kubeconfig, talosconfig, nil
}

// summarize says what stands, in the versions that the nodes gave, and what to do next.
func (s *session) summarize(outputs stacks.Outputs, report status.Report) {
	headline := terminal.Paint(s.out, terminal.Good, outputs.ClusterName+" is up")
	fmt.Fprintf(s.out, "\n%s in %s · %s\n", headline, time.Since(s.started).Round(100*time.Millisecond), outputs.KubernetesEndpoint)
	kubeconfig := workspace.Nearby(s.kubeconfigFile())
	fmt.Fprintf(s.out, "  runs         %s\n", report.Versions())
	fmt.Fprintf(s.out, "  kubeconfig   %s\n", kubeconfig)
	fmt.Fprintf(s.out, "  talosconfig  %s\n", workspace.Nearby(s.talosconfigFile()))
	s.next("kubectl --kubeconfig "+shellWord(kubeconfig)+" get nodes", typed("status %s", s.place), typed("destroy %s", s.place))
}

// next names commands, each on a line of its own, from which it is copied.
func (s *session) next(commands ...string) { tellNext(s.out, "next", commands...) }

func tellNext(out io.Writer, when string, commands ...string) {
	fmt.Fprintf(out, "%s:\n", when)
	for _, command := range commands {
		fmt.Fprintf(out, "  %s\n", command)
	}
}

// stopAfter is the end of a run that was not meant to go further.
func (s *session) stopAfter(span span) {
	fmt.Fprintf(s.out, "\nphase %s is done, as asked for\n", span.last)
	s.next(typed("up %s", s.place))
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
