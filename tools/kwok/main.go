// Command kwok plays the Pods of emulated nodes: a Pod that is scheduled onto one of them runs, and a deleted Pod ends. It is
// KWOK's controller with its own fast stages and those of stages.yaml. It does not manage nodes. The lab knows which machines are
// on, registers their nodes and renews their leases.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/utils/client"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig `file` of the cluster; required")
	selector := flag.String("node-selector", "", "label `selector` of the nodes whose Pods are played; required")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := play(ctx, *kubeconfig, *selector); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		os.Exit(1)
	}
}

// play plays Pods until the context ends.
func play(ctx context.Context, kubeconfig, selector string) error {
	if kubeconfig == "" || selector == "" {
		return errors.New("--kubeconfig and --node-selector are required")
	}
	configuration, err := configure(kubeconfig)
	if err != nil {
		return err
	}
	configuration.ManageNodesWithLabelSelector = selector
	controller, err := controllers.NewController(configuration)
	if err != nil {
		return err
	}
	if err := controller.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// parallelism is the number of Pods that are played at once.
const parallelism = 4

func configure(kubeconfig string) (controllers.Config, error) {
	pods, err := podStages()
	if err != nil {
		return controllers.Config{}, err
	}
	identity, err := controllers.Identity()
	if err != nil {
		return controllers.Config{}, err
	}
	configuration := controllers.Config{
		Clock: clock.RealClock{},
		ID:    identity,
		// For Pods of nodes to which the controller manager has not assigned a network yet; the lab waits for one.
		CIDR:                      "10.0.0.1/24",
		PodPlayStageParallelism:   parallelism,
		NodePlayStageParallelism:  1,
		PodsOnNodeSyncParallelism: parallelism,
		LocalStages: map[internalversion.StageResourceRef][]*internalversion.Stage{
			{APIGroup: "v1", Kind: "Pod"}: pods,
			// Without an entry for nodes KWOK finds no node, and plays no Pod (controllers/controller.go).
			{APIGroup: "v1", Kind: "Node"}: nil,
		},
	}
	return configuration, connect(&configuration, kubeconfig)
}

// connect creates the clients.
func connect(configuration *controllers.Config, kubeconfig string) error {
	clients, err := client.NewClientset("", kubeconfig)
	if err != nil {
		return err
	}
	restConfig, err := clients.ToRESTConfig()
	if err != nil {
		return err
	}
	if configuration.TypedClient, err = kubernetes.NewForConfig(restConfig); err != nil {
		return err
	}
	if configuration.RESTClient, err = rest.RESTClientFor(restConfig); err != nil {
		return err
	}
	if configuration.DynamicClient, err = clients.ToDynamicClient(); err != nil {
		return err
	}
	configuration.RESTMapper, err = clients.ToRESTMapper()
	return err
}
