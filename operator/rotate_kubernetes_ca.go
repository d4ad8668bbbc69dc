package operator

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator/internal/rotation"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// KubernetesCARotation are the steps of [Operator.RotateKubernetesCA], in their order.
var KubernetesCARotation = kubernetesCARotation.list()

// KubernetesCACost is what [Operator.RotateKubernetesCA] costs the cluster. Pods get the issuing CA alone, and never both (talos v1.12.0,
// controllers/k8s/render_secrets_static_pod.go, the ca.crt of the controller manager, which is its root-ca-file).
const KubernetesCACost = "on each node the kubelet, and on control planes the API server, the controller manager and the scheduler restart, one node after the other; " +
	"when they issue with the new CA, pods do not trust the API until their copy of the CA is changed, after a minute, and those that read it only when they start, as programs with client-go do, until they are restarted"

var kubernetesCARotation = secretsRotation{
	what: "kubernetes-ca", purpose: "replace the CA of Kubernetes", renew: newKubernetesCA, cost: KubernetesCACost,
	steps: []rotationStep{
		{text: "each node accepts the new CA of Kubernetes, control planes first, and is Ready again", run: acceptKubernetesCA},
		{text: "machine secrets, configurations and the kubeconfig in the state are of the new CA", writes: true},
		{text: "each node issues its certificates with the new CA, still accepts the old one, and is Ready again", run: issueByKubernetesCA},
		{text: "no node accepts the old CA any more, workers first, and every former kubeconfig is refused", run: dropKubernetesCA},
	},
}

// RotateKubernetesCA replaces the CA of Kubernetes, after consent, without a reboot. After a kill at any point it goes on with the same
// new CA; until then other operations are refused.
func (o *Operator) RotateKubernetesCA(ctx context.Context, options RotationOptions) error {
	return o.rotateSecrets(ctx, kubernetesCARotation, options)
}

// newKubernetesCA makes the new CA, and the administrator's certificate.
func newKubernetesCA(exported *engine.Exported, now time.Time) (rotation.Replacements, error) {
	ca, err := authorityIn(exported, "k8s")
	if err != nil {
		return nil, err
	}
	kubeconfig, _, err := state.ClusterCredentials(exported.Deployment)
	if err != nil {
		return nil, err
	}
	client, err := clientIn(kubeconfig)
	if err != nil {
		return nil, refused(err)
	}
	return rotation.Authority(rotation.KubernetesCA, ca, client, now.Add(-allowedSkew))
}

// clientIn returns the certificate of the administrator in a kubeconfig that Talos made.
func clientIn(kubeconfig string) (rotation.Pair, error) {
	config, err := clientcmd.Load([]byte(kubeconfig))
	if err == nil {
		for _, user := range config.AuthInfos {
			return rotation.PairOf(user.ClientCertificateData, user.ClientKeyData), nil
		}
	}
	return rotation.Pair{}, errors.New("the state holds no kubeconfig: run `em-infra up` first")
}

// kubernetesCA is the rotation of a CA of Kubernetes.
type kubernetesCA struct {
	*secretsRun
	ca rotation.Change
}

func (r *secretsRun) kubernetesCA() (kubernetesCA, error) {
	ca, err := r.note.Replacements.Authority()
	return kubernetesCA{r, ca}, err
}

// patch changes nodes, and waits until each works again. Their kubelets restart.
func (k kubernetesCA) patch(ctx context.Context, nodes []rolling.Node, change func(*v1alpha1.Config)) error {
	talosconfig, err := k.cluster.administrator(ctx)
	if err != nil {
		return err
	}
	health := k.health(talosconfig)
	return inTurn(nodes, func(node rolling.Node) error {
		return k.within(ctx, func(ctx context.Context) error { return health.ConfigureKubelet(ctx, node, change) })
	})
}

func acceptKubernetesCA(ctx context.Context, r *secretsRun) error {
	k, err := r.kubernetesCA()
	if err != nil {
		return err
	}
	change, err := rotation.KubernetesPlace.Accept(k.ca)
	if err != nil {
		return err
	}
	return k.patch(ctx, k.nodes, change)
}

func issueByKubernetesCA(ctx context.Context, r *secretsRun) error {
	k, err := r.kubernetesCA()
	if err != nil {
		return err
	}
	change, err := rotation.KubernetesPlace.Issue(k.ca)
	if err != nil {
		return err
	}
	if err := k.patch(ctx, k.nodes, change); err != nil {
		return err
	}
	latter, _, err := k.kubeconfigs(ctx)
	if err != nil {
		return err
	}
	return k.within(ctx, k.accepts(latter))
}

// dropKubernetesCA begins with the workers. When a node does not accept the old CA any more, its kubelet gets another client certificate; when a
// control plane does not accept it any more, its API server refuses the client certificates of the old CA (talos v1.12.4,
// controllers/k8s/kubelet_service.go, refreshKubeletCerts).
func dropKubernetesCA(ctx context.Context, r *secretsRun) error {
	k, err := r.kubernetesCA()
	if err != nil {
		return err
	}
	change, err := rotation.KubernetesPlace.Drop(k.ca)
	if err != nil {
		return err
	}
	workersFirst := slices.Clone(k.nodes)
	slices.Reverse(workersFirst)
	if err := k.patch(ctx, workersFirst, change); err != nil {
		return err
	}
	latter, former, err := k.kubeconfigs(ctx)
	if err != nil {
		return err
	}
	if err := k.within(ctx, k.accepts(latter)); err != nil {
		return err
	}
	return k.within(ctx, func(ctx context.Context) error {
		return awaited(ctx, func(ctx context.Context) error {
			if status.KubernetesAnswers(ctx, former, apiPatience) == nil {
				return errors.New("the Kubernetes API still accepts the old CA")
			}
			return nil
		})
	})
}

// accepts returns the check that the Kubernetes API answers to a kubeconfig, after a while.
func (k kubernetesCA) accepts(kubeconfig []byte) func(context.Context) error {
	return func(ctx context.Context) error {
		return awaited(ctx, func(ctx context.Context) error { return status.KubernetesAnswers(ctx, kubeconfig, apiPatience) })
	}
}

// kubeconfigs returns the kubeconfig in the state, which is that of the new CA, and the same with the client certificate from before:
// it trusts the server, so it is refused for its certificate alone.
func (k kubernetesCA) kubeconfigs(ctx context.Context) (latter, former []byte, err error) {
	exported, err := k.cluster.state.Seen(ctx)
	if err != nil {
		return nil, nil, err
	}
	text, _, err := state.ClusterCredentials(exported.Deployment)
	if err != nil {
		return nil, nil, err
	}
	client, err := k.note.Replacements.Client()
	return []byte(text), []byte(client.Undo(text)), err
}
