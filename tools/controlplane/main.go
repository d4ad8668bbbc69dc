// Command controlplane is the Kubernetes control plane in one executable: etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler. It also contains etcdutl, which creates etcd's data from a snapshot. Each is the upstream command with the
// upstream flags. The first argument selects the command. The commands share most of their code, so separate executables would take
// four times the space. The lab runs one process per component, as Talos runs one static Pod per component.
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
	os.Args = append([]string{name}, os.Args[2:]...) // the commands read their flags from os.Args
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

// run runs a command as upstream's main does: it sets up the logs, and flushes them at the end.
func run(command *cobra.Command) { os.Exit(cli.Run(command)) }

// snapshots returns the part of etcdutl that handles snapshots, as in upstream's main (etcdutl/ctl.go).
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
