package kubernetes

import (
	"context"
	"errors"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/em-infra/em-infra/internal/poll"
)

// tokenPatience bounds one wait for the token of a new cluster, which Talos writes soon after the API is ready.
const tokenPatience = 5 * time.Second

// errToken is the error in a kubelet's log until a control plane knows its token.
var errToken = errors.New("the Kubernetes API does not accept the token of its machine configuration")

// join waits until the API accepts the kubelet's bootstrap token, with which a real kubelet gets its client certificate. A kubelet whose
// Node exists has a certificate already (kubernetes v1.35, pkg/kubelet/certificate/bootstrap/bootstrap.go, LoadClientCert).
func (k *kubelet) join(ctx context.Context) error {
	_, err := k.client.CoreV1().Nodes().Get(ctx, k.node.Hostname, metav1.GetOptions{})
	if err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	client, err := k.bootstrapClient()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, tokenPatience)
	defer cancel()
	isRefused := false
	err = poll.Until(limited, readyInterval, func(ctx context.Context) (bool, error) {
		_, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		isRefused = apierrors.IsUnauthorized(err)
		return err == nil, nil
	})
	if isRefused && ctx.Err() == nil {
		return errToken
	}
	return err
}

// bootstrapClient returns a client with the token of the node's machine configuration alone.
func (k *kubelet) bootstrapClient() (*kubernetes.Clientset, error) {
	own, err := k.plane.current()
	if err != nil {
		return nil, err
	}
	token, config := k.node.Config.Cluster().Token(), rest.AnonymousClientConfig(own.rest)
	config.BearerToken = token.ID() + "." + token.Secret()
	return newClient(config)
}
