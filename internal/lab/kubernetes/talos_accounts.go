package kubernetes

import (
	"bytes"
	"context"
	stdx509 "crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client/config"
	machineconfig "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/poll"
)

const (
	// accountsInterval is how often the accounts are read. Talos watches them, and reads them all once a minute.
	accountsInterval = 2 * time.Second
	// accountTTL and accountRenewal are how long a certificate is valid, and how long before its end it is renewed.
	accountTTL     = 6 * time.Hour
	accountRenewal = time.Hour
	// accountEndpoint is the address in the talosconfig: the Service that Talos creates.
	accountEndpoint = constants.KubernetesTalosAPIServiceName + "." + constants.KubernetesTalosAPIServiceNamespace
	// accountWriter is the manager of the fields that Talos writes.
	accountWriter = "machined"
)

var accountsResource = schema.GroupVersionResource{
	Group: constants.ServiceAccountResourceGroup, Version: constants.ServiceAccountResourceVersion, Resource: constants.ServiceAccountResourcePlural,
}

// talosAccounts are the accounts of pods for the Talos API: for each one Talos makes a Secret with a talosconfig (talos v1.12.4,
// internal/app/machined/pkg/controllers/kubeaccess/serviceaccount/crd_controller.go).
type talosAccounts struct {
	plane  *controlPlane
	access machineconfig.KubernetesTalosAPIAccess
	node   talos.KubernetesNode

	// The fields below are those of one round.
	accounts dynamic.NamespaceableResourceInterface
	admin    kubernetes.Interface
}

// serveTalosAccounts makes the Secrets of the accounts until ctx ends, if the machine configuration allows any. One control plane at a
// time does so; Talos has a lock in etcd for that.
func (p *controlPlane) serveTalosAccounts(ctx context.Context, node talos.KubernetesNode, report func(error)) {
	access := node.Config.Machine().Features().KubernetesTalosAPIAccess()
	if !access.Enabled() {
		return
	}
	select {
	case p.accountsLock <- struct{}{}:
		defer func() { <-p.accountsLock }()
	case <-ctx.Done():
		return
	}
	served, reported := talosAccounts{plane: p, access: access, node: node}, ""
	_ = poll.Until(ctx, accountsInterval, func(ctx context.Context) (bool, error) {
		if err := served.syncAll(ctx); err != nil && ctx.Err() == nil && err.Error() != reported {
			reported = err.Error()
			report(fmt.Errorf("accounts for the Talos API: %w", err))
		}
		return false, nil
	}) // the only error is that of the control plane's context
}

func (a talosAccounts) syncAll(ctx context.Context) error {
	own, err := a.plane.current()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(own.rest)
	if err != nil {
		return err
	}
	a.accounts, a.admin = client.Resource(accountsResource), own.admin
	all, err := a.accounts.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil // their definition is not there yet
	}
	if err != nil {
		return err
	}
	var errs []error
	for i := range all.Items {
		errs = append(errs, a.sync(ctx, &all.Items[i]))
	}
	return errors.Join(errs...)
}

// sync makes the Secret of an account, or writes into its status why there is none (syncHandler).
func (a talosAccounts) sync(ctx context.Context, account *unstructured.Unstructured) error {
	namespace, name := account.GetNamespace(), account.GetName()
	kept := a.admin.CoreV1().Secrets(namespace)
	secret, err := kept.Get(ctx, name, metav1.GetOptions{})
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return err
	}
	wanted, _, err := unstructured.NestedStringSlice(account.Object, "spec", "roles")
	if err != nil {
		return err
	}
	if reason := a.refusal(account, secret, absent, wanted); reason != "" {
		return a.note(ctx, account, reason)
	}
	roles, _ := role.Parse(wanted)
	if absent || a.needsUpdate(secret, roles) {
		talosconfig, err := a.talosconfig(roles)
		if err != nil {
			return err
		}
		if absent {
			_, err = kept.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(account, account.GroupVersionKind())}},
				Data:       map[string][]byte{constants.TalosconfigFilename: talosconfig},
			}, metav1.CreateOptions{FieldManager: accountWriter})
		} else {
			secret.Data = map[string][]byte{constants.TalosconfigFilename: talosconfig}
			_, err = kept.Update(ctx, secret, metav1.UpdateOptions{FieldManager: accountWriter})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return a.note(ctx, account, "")
}

// refusal returns why an account gets no certificate; empty if it gets one.
func (a talosAccounts) refusal(account *unstructured.Unstructured, secret *corev1.Secret, absent bool, roles []string) string {
	var refused []string
	for _, wanted := range roles {
		if !slices.Contains(a.access.AllowedRoles(), wanted) {
			refused = append(refused, wanted)
		}
	}
	switch namespace := account.GetNamespace(); {
	case !absent && !metav1.IsControlledBy(secret, account):
		return fmt.Sprintf("Secret already exists and is not managed by controller: %s/%s", namespace, account.GetName())
	case roles == nil:
		return "Roles not found"
	case !slices.Contains(a.access.AllowedKubernetesNamespaces(), namespace):
		return "Namespace is not allowed: " + namespace
	case len(refused) > 0:
		return fmt.Sprintf("Roles not allowed: %v", refused)
	default:
		return ""
	}
}

// note writes the whole account with the reason in its status. Talos does so each time, even if nothing changes (updateTalosSAStatus).
func (a talosAccounts) note(ctx context.Context, account *unstructured.Unstructured, reason string) error {
	if reason == "" {
		unstructured.RemoveNestedField(account.Object, "status", "failureReason")
	} else if err := unstructured.SetNestedField(account.Object, reason, "status", "failureReason"); err != nil {
		return err
	}
	_, err := a.accounts.Namespace(account.GetNamespace()).Update(ctx, account, metav1.UpdateOptions{FieldManager: accountWriter})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // it was changed or deleted in between
	}
	return err
}

func (a talosAccounts) talosconfig(roles role.Set) ([]byte, error) {
	authority := a.node.Config.Machine().Security().IssuingCA()
	client, err := secrets.NewAdminCertificateAndKey(time.Now(), authority, roles, accountTTL)
	if err != nil {
		return nil, err
	}
	return config.NewConfig("default", []string{accountEndpoint}, authority.Crt, client).Bytes()
}

// needsUpdate reports whether the certificate in a Secret is of another authority, has other roles, or ends soon.
func (a talosAccounts) needsUpdate(secret *corev1.Secret, roles role.Set) bool {
	talosconfig, err := config.FromBytes(secret.Data[constants.TalosconfigFilename])
	if err != nil || talosconfig.Contexts[talosconfig.Context] == nil {
		return true
	}
	access := talosconfig.Contexts[talosconfig.Context]
	authority, errCA := base64.StdEncoding.DecodeString(access.CA)
	text, errCrt := base64.StdEncoding.DecodeString(access.Crt)
	block, _ := pem.Decode(text)
	if errCA != nil || errCrt != nil || block == nil || !bytes.Equal(authority, a.node.Config.Machine().Security().IssuingCA().Crt) {
		return true
	}
	certificate, err := stdx509.ParseCertificate(block.Bytes)
	if err != nil {
		return true
	}
	has, wants := slices.Sorted(slices.Values(certificate.Subject.Organization)), slices.Sorted(slices.Values(roles.Strings()))
	return time.Until(certificate.NotAfter) < accountRenewal || !slices.Equal(has, wants)
}
