package main

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/terminal/ptytest"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/stacks"
)

// Long values, except names with 63 characters.
const (
	longName  = "k3s-production-control-plane-12"
	longHost  = "proxmox-rack-2"
	longPlace = "--stack k3s-production --inventory ../infrastructure/stacks/k3s-production --lab"
	longError = `rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp 192.168.120.121:50000: connect: connection refused"`
)

// renderers returns the functions that print for users, each with long values.
func renderers(t *testing.T) map[string]func(out io.Writer) error {
	t.Helper()
	checks := operator.Checks{
		{Result: operator.CheckFailure, Sentence: "storage tank has 41 GiB free on " + longHost + ", and the inventory asks for 448 GiB of it", Remedy: "free space, or set diskStorage or diskGiB of nodes to what there is room for"},
		{Result: operator.CheckWarning, Sentence: "PCI 0000:01:00.0 has no node", Remedy: "gpus: [{bdf: 0000:01:00.0, deviceId: 10de:2684, subsystemId: 1043:889a, iommuGroup: 14}]"},
	}
	known := operator.Failure{Phase: phase.Bootstrap, Name: longName + "-configuration", Text: longError}
	unknown := operator.Failure{Phase: phase.Provision, Name: longName + "-vm", Text: "something that nobody has seen until this very day, and that is told as it was said, in a sentence of its own"}
	causes := []operator.Cause{
		{Failure: known, Explanations: operator.Explain(longError), Alike: []string{"k3s-production-gpu-worker-3-configuration", "k3s-production-worker-4-configuration"}},
		{Failure: unknown},
	}
	return map[string]func(out io.Writer) error{
		"preflight": func(out io.Writer) error { printPreflight(out, checks); return nil },
		"summary": func(out io.Writer) error {
			printSummary(out, &operator.UpResult{
				Outputs: stacks.Outputs{ClusterName: "k3s-production", KubernetesEndpoint: "https://kubernetes.production.example.org:6443"}, Report: running(t, "v1.35.4", longName, "v1.12.4", "k3s-production-worker-4", "v1.12.5"),
				Kubeconfig: ".credentials/k3s-production/kubeconfig", Talosconfig: ".credentials/k3s-production/talosconfig",
			}, longPlace)
			return nil
		},
		"the end of a phase": func(out io.Writer) error { printPhaseDone(out, phase.Bootstrap, longPlace); return nil },
		"failure": func(out io.Writer) error {
			printFailure(out, &operator.FailedError{Operation: "up", Again: "up " + longPlace, Causes: causes})
			return nil
		},
		"interrupt": func(out io.Writer) error {
			printFailure(out, &operator.FailedError{Operation: "destroy", Again: "destroy " + longPlace, Interrupted: true})
			return nil
		},
		"progress": func(out io.Writer) error {
			printer{streams: streams{out: out}}.line(phase.Bootstrap.String(), longName+"-configuration being created, usually 120 s", 1234567*time.Millisecond)
			printer{streams: streams{out: out}}.line(phase.Verify.String(), "waits for "+longName+": "+longError, time.Second)
			return nil
		},
		"backups": func(out io.Writer) error {
			return backupTable([]operator.BackupCopy{{Backup: operator.Backup{Name: "2026-11-22T15-09-08.4711-before-migrate-to-s3-backend.json", Reason: "before-migrate-to-s3-backend", Bytes: 123456789}, Bucket: true}}).Write(out)
		},
		"tools": func(out io.Writer) error {
			return printTools(out, []toolchain.Tool{
				{Name: "pulumi", Version: "v3.215.0", Installed: true, Origin: toolchain.Built, Path: "/home/somebody/.cache/em-infra/tools/pulumi/v3.215.0-0123456789ab/bin/pulumi", Reason: "it could not be downloaded: dial tcp: lookup of its server in the domain name system: no such host"},
				{Name: "pulumi-resource-proxmoxve", Version: "v6.18.1"},
			})
		},
		"an error": func(out io.Writer) error {
			_, err := fmt.Fprintln(out, "../infrastructure/stacks/k3s-production/nodes.yaml:12: nodes[1].address: 192.168.21.21 lies outside network.cidr 192.168.20.0/24: choose an address from 192.168.20.2 to 192.168.20.254")
			return err
		},
	}
}

// TestNoLineWraps makes every renderer write to a terminal of 80 columns. Only a word that no line can hold may be longer.
func TestNoLineWraps(t *testing.T) {
	t.Parallel()
	for name, render := range renderers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, colored := range []bool{false, true} {
				var screen bytes.Buffer
				require.NoError(t, render(terminal.NewFolded(&screen, terminal.Columns, colored)))
				require.NotEmpty(t, screen.String())
				ptytest.RequireFits(t, screen.String(), terminal.Columns)
				if !colored {
					require.NotContains(t, screen.String(), "\x1b")
				}
			}
		})
	}
}
