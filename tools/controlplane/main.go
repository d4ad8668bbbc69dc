// Command controlplane is the Kubernetes control plane in one executable: etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler, and etcdutl, which makes etcd's data of a snapshot, each the upstream command with
// the upstream flags, chosen by the first argument. One executable, because they share most of their code: built apart they would take four times the
// room. The lab runs one process per component, as Talos runs one static Pod per component.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	// The metrics and log formats that upstream's mains register (cmd/kube-*/*.go of k8s.io/kubernetes).
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	name := os.Args[1]
	os.Args = append([]string{name}, os.Args[2:]...) // the commands read their flags from there
	switch name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "etcdutl":
		run(snapshots())
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllermanager.NewControllerManagerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	default:
		usage()
	}
}

// run runs a command as upstream's main does: with logs set up and flushed.
func run(command *cobra.Command) { os.Exit(cli.Run(command)) }

// snapshots returns the part of etcdutl that handles snapshots, as upstream's main has it (etcdutl/ctl.go).
func snapshots() *cobra.Command {
	command := &cobra.Command{Use: "etcdutl", SilenceUsage: true}
	command.AddCommand(etcdutl.NewSnapshotCommand())
	return command
}

func usage() {
	components := []string{"etcd", "etcdutl", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	fmt.Fprintf(os.Stderr, "usage: controlplane %s [flags]\n", strings.Join(components, "|"))
	os.Exit(2)
}
