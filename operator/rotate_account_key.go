package operator

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator/internal/accounttokens"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// ServiceAccountKeyRotation are the steps of [Operator.RotateServiceAccountKey], in their order.
var ServiceAccountKeyRotation = serviceAccountKeyRotation.list()

// ServiceAccountKeyCost is what [Operator.RotateServiceAccountKey] costs the cluster.
const ServiceAccountKeyCost = "Talos gives an API server one key for tokens of service accounts, so all tokens from before are refused at once, by one control plane after the other: " +
	"what talks to the Kubernetes API from a pod fails until it has a new token; pods of kube-system and of the addons are restarted, and yours have to be if they do not read their token again; " +
	"pods that do not talk to the API go on"

var serviceAccountKeyRotation = secretsRotation{
	what: "service-account-key", purpose: "replace the key of its service accounts", renew: newServiceAccountKey, cost: ServiceAccountKeyCost,
	steps: []rotationStep{
		{text: "each control plane signs with the new key and refuses tokens of the former one, one after the other; its API server, controller manager and scheduler restart", run: signByNewKey, writes: true},
		{text: "the tokens in Secrets of the type kubernetes.io/service-account-token are made anew, and the kubelets restart, which get new tokens for their pods", run: renewTokens},
		{text: "the Deployments, DaemonSets and StatefulSets of kube-system and of the addons are restarted, and run", run: restartAddons},
	},
}

// RotateServiceAccountKey replaces the key that signs the tokens of service accounts, after consent. After a kill at any point it goes on
// with the same new key; until then other operations are refused.
func (o *Operator) RotateServiceAccountKey(ctx context.Context, options RotationOptions) error {
	return o.rotateSecrets(ctx, serviceAccountKeyRotation, options)
}

// newServiceAccountKey makes the new key.
func newServiceAccountKey(exported *engine.Exported, now time.Time) (rotation.Replacements, error) {
	bundle, err := secretsOf(exported)
	if err != nil {
		return nil, err
	}
	key, err := bundle.RenewAccountKey(now)
	return rotation.Replacements{{Old: key.Old, New: key.New}}, err
}

// signByNewKey gives the control planes the new key, and waits until each API server accepts the tokens that each of them issues.
func signByNewKey(ctx context.Context, r *secretsRun) error {
	key, err := base64.StdEncoding.DecodeString(r.note.Replacements[0].New)
	if err != nil {
		return rotation.ErrNote
	}
	if err := r.roll(ctx, r.only(true), func(c *v1alpha1.Config) {
		c.ClusterConfig.ClusterServiceAccount = &x509.PEMEncodedKey{Key: key}
	}); err != nil {
		return err
	}
	servers, err := r.apiServers(ctx)
	if err != nil {
		return err
	}
	return r.within(ctx, func(ctx context.Context) error {
		return awaited(ctx, func(ctx context.Context) error { return accounttokens.Accepted(ctx, servers) })
	})
}

// unheardPatience is how long the Node of a machine that was just stopped may still be Ready. tokenPatience is how long the controller manager may
// take to make the tokens in Secrets anew. rolloutPatience is how long workloads may take to restart: a DaemonSet restarts on one node after the
// other, on slow hardware.
const (
	unheardPatience = 2 * time.Minute
	tokenPatience   = 5 * time.Minute
	rolloutPatience = 20 * time.Minute
)

// renewTokens restarts the kubelets because each keeps the tokens of its pods for most of an hour, in its memory (kubernetes v1.35,
// pkg/kubelet/token/token_manager.go); programs with client-go read the file again within a minute.
func renewTokens(ctx context.Context, r *secretsRun) error {
	api, err := r.apiServer(ctx)
	if err != nil {
		return err
	}
	count, err := accounttokens.RenewSecrets(ctx, api, tokenPatience)
	if err != nil {
		return err
	}
	r.emit(Progress{Part: "rotate", What: fmt.Sprintf("Secrets with new tokens: %d", count)})
	health, err := r.access(ctx)
	if err != nil {
		return err
	}
	return health.RestartKubelets(ctx, nil)
}

// restartAddons restarts what em-infra and Talos have installed. It reports the workloads that it leaves to the user, and the other namespaces with
// pods that may need a restart.
func restartAddons(ctx context.Context, r *secretsRun) error {
	namespaces, err := r.addonNamespaces(ctx)
	if err != nil {
		return err
	}
	api, err := r.apiServer(ctx)
	if err != nil {
		return err
	}
	if err := forgetLost(ctx, r, api); err != nil {
		return err
	}
	restarted, err := accounttokens.Restart(ctx, api, namespaces, r.note.Begun, rolloutPatience)
	if err != nil {
		return err
	}
	r.emit(Progress{Part: "rotate", What: fmt.Sprintf("restarted in %s: %d", strings.Join(namespaces, ", "), restarted.Workloads)})
	if len(restarted.Left) > 0 {
		r.emit(Note{Text: "restart by hand, because their pods are replaced only when they are deleted or a pause is ended: " + strings.Join(restarted.Left, ", ")})
	}
	elsewhere, err := accounttokens.Elsewhere(ctx, api, namespaces)
	if err != nil {
		return err
	}
	if len(elsewhere) > 0 {
		r.emit(Note{Text: "restart what talks to the Kubernetes API and does not read its token again, in: " + strings.Join(elsewhere, ", ")})
	}
	return nil
}

// forgetLost reports the machines that are left out and lost, and deletes their Nodes.
func forgetLost(ctx context.Context, r *secretsRun, api kubernetes.Interface) error {
	lost, err := accounttokens.LostNodes(ctx, api, rolling.Names(r.left), unheardPatience)
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		r.emit(Note{Text: "these machines are lost, so their Nodes are deleted: " + strings.Join(lost, ", ")})
	}
	return accounttokens.ForgetNodes(ctx, api, lost)
}

// addonNamespaces returns kube-system and the namespaces of the objects in the state, sorted.
func (r *secretsRun) addonNamespaces(ctx context.Context) ([]string, error) {
	exported, err := r.cluster.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	namespaces := append(state.Namespaces(exported.Deployment), metav1.NamespaceSystem)
	slices.Sort(namespaces)
	return slices.Compact(namespaces), nil
}
