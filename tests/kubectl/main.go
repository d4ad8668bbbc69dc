// Command kubectl is the part of kubectl that the tests need, by kubectl's own package: cordon, drain and uncordon. It is
// a module of its own, since nothing else needs what kubectl brings along.
//
//	kubectl --kubeconfig FILE cordon|drain|uncordon NODE
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubectl/pkg/drain"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "of the cluster")
	timeout := flag.Duration("timeout", 0, "of a drain; 0 is none")
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), *kubeconfig, *timeout, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, timeout time.Duration, verb, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	helper := &drain.Helper{
		Ctx: ctx, Client: client, IgnoreAllDaemonSets: true, Timeout: timeout, GracePeriodSeconds: -1, Out: os.Stdout, ErrOut: os.Stderr,
	}
	return do(helper, verb, node)
}

func do(helper *drain.Helper, verb string, node *corev1.Node) error {
	switch verb {
	case "cordon", "uncordon":
		return drain.RunCordonOrUncordon(helper, node, verb == "cordon")
	case "drain":
		if err := drain.RunCordonOrUncordon(helper, node, true); err != nil {
			return err
		}
		return drain.RunNodeDrain(helper, node.Name)
	default:
		return fmt.Errorf("%q is none of cordon, drain and uncordon", verb)
	}
}
