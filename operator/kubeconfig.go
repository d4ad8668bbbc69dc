package operator

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/kubectlconfig"
)

// KubeconfigMergeOptions are the options of [Operator.MergeKubeconfig] and [Operator.UnmergeKubeconfig].
type KubeconfigMergeOptions struct {
	// File is the kubeconfig that is changed. Default: empty, the first one in the environment variable KUBECONFIG, else ~/.kube/config.
	File string
	// Use makes the context of the cluster the current one. Default: false.
	Use bool
}

// MergedKubeconfig is the result of [Operator.MergeKubeconfig] and [Operator.UnmergeKubeconfig].
type MergedKubeconfig struct {
	// File that was changed.
	File string
	// Copy of the file as it was before its first change by em-infra, if this was that change; else empty.
	Copy string
	// Context is the name of the cluster's context; empty after [Operator.UnmergeKubeconfig].
	Context string
	// Changed is whether the content of the file was changed.
	Changed bool
}

// Kubeconfig returns the path of the kubeconfig of the cluster's administrator, which the last run has written. It is refused if there is none.
func (o *Operator) Kubeconfig() (string, error) {
	file := o.credentials().kubeconfig()
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return "", refused(o.remedies().CompleteError(fmt.Errorf("stack %s has no kubeconfig: `em-infra up` makes the cluster and writes it to %s", o.workspace.Stack, workspace.Nearby(file))))
	} else if err != nil {
		return "", err
	}
	return file, nil
}

// MergeKubeconfig puts the access to the cluster into a person's own kubeconfig. It does not change entries of others: it refuses if there is
// one of the same name, unless an earlier merge of this stack has put it there.
func (o *Operator) MergeKubeconfig(options KubeconfigMergeOptions) (*MergedKubeconfig, error) {
	file, err := o.Kubeconfig()
	if err != nil {
		return nil, err
	}
	own, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, o.remedies().CompleteError(fmt.Errorf("%s cannot be read as a kubeconfig: `em-infra up` writes it anew", workspace.Nearby(file))) // the cause could quote a secret
	}
	target := cmp.Or(options.File, kubectlconfig.Usual())
	changed, err := kubectlconfig.Change(target, func(config *clientcmdapi.Config) error {
		err := kubectlconfig.Merge(config, own, o.kubeconfigOwner(), options.Use)
		if errors.Is(err, kubectlconfig.ErrOther) {
			return fmt.Errorf("%s: %w: rename or remove it, unmerge the stack that has put it there, or name another file with --file", target, err)
		}
		return err
	})
	if err != nil {
		return nil, refused(err)
	}
	return &MergedKubeconfig{File: changed.File, Copy: changed.Copy, Context: own.CurrentContext, Changed: changed.Written}, nil
}

// UnmergeKubeconfig removes from a person's own kubeconfig what [Operator.MergeKubeconfig] has put there, and nothing else.
func (o *Operator) UnmergeKubeconfig(options KubeconfigMergeOptions) (*MergedKubeconfig, error) {
	target := cmp.Or(options.File, kubectlconfig.Usual())
	if _, err := os.Stat(target); errors.Is(err, os.ErrNotExist) {
		return &MergedKubeconfig{File: target}, nil
	}
	changed, err := kubectlconfig.Change(target, func(config *clientcmdapi.Config) error {
		kubectlconfig.Unmerge(config, o.kubeconfigOwner())
		return nil
	})
	if err != nil {
		return nil, refused(err)
	}
	return &MergedKubeconfig{File: changed.File, Copy: changed.Copy, Changed: changed.Written}, nil
}

func (o *Operator) kubeconfigOwner() kubectlconfig.Owner {
	return kubectlconfig.Owner{Stack: o.workspace.Stack, Project: o.workspace.Root, Rehearsed: o.workspace.Rehearsed}
}
