package nodeops

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// Kubernetes is a client for the Kubernetes API at one control plane's own address. The Talos API provides its credentials,
// so the talosconfig is enough. client-go would double the build time (see Health.kubernetes).
type Kubernetes struct {
	location string
	client   *http.Client
}

// ReachKubernetes returns the API of the first control plane of a talosconfig whose API server answers. The error states for each
// control plane why it does not.
func ReachKubernetes(ctx context.Context, talosconfig []byte) (*Kubernetes, error) {
	endpoints, err := Endpoints(talosconfig)
	if err != nil {
		return nil, err
	}
	return ReachKubernetesAt(ctx, talosconfig, endpoints)
}

// ReachKubernetesAt is [ReachKubernetes] for control planes at other addresses than the talosconfig's.
func ReachKubernetesAt(ctx context.Context, talosconfig []byte, addresses []string) (*Kubernetes, error) {
	var problems []error
	for _, address := range addresses {
		api, err := kubernetesAt(ctx, talosconfig, address)
		if err == nil {
			return api, nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", address, err))
	}
	return nil, errors.Join(problems...)
}

func kubernetesAt(ctx context.Context, talosconfig []byte, address string) (*Kubernetes, error) {
	kubeconfig, err := Kubeconfig(ctx, talosconfig, address)
	if err != nil {
		return nil, err
	}
	credentials, err := clientTLS(kubeconfig)
	if err != nil {
		return nil, err
	}
	api := &Kubernetes{
		location: "https://" + net.JoinHostPort(address, strconv.Itoa(constants.DefaultControlPlanePort)),
		client:   &http.Client{Transport: &http.Transport{TLSClientConfig: credentials}}, // nodes are reached without a proxy
	}
	if err := api.call(ctx, http.MethodGet, "/readyz", nil, nil); err != nil {
		api.Close()
		return nil, fmt.Errorf("its Kubernetes API: %w", err)
	}
	return api, nil
}

// at returns the same API under another URL. Both share one HTTP client.
func (k *Kubernetes) at(server string) *Kubernetes {
	return &Kubernetes{location: strings.TrimSuffix(server, "/"), client: k.client}
}

// Close closes idle connections.
func (k *Kubernetes) Close() { k.client.CloseIdleConnections() }

// refusal is an error response of the API server.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return r.message }

// isRefusal reports whether the API server answered with this HTTP status.
func isRefusal(err error, code int) bool {
	var answer *refusal
	return errors.As(err, &answer) && answer.code == code
}

// call sends a request with an optional object and decodes the response into receive, unless it is nil. The error is one
// clause.
func (k *Kubernetes) call(ctx context.Context, method, path string, send, receive any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var body io.Reader
	if send != nil {
		text, err := json.Marshal(send)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, k.location+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json") // null removes a field
	}
	response, err := k.client.Do(request)
	if untrusted := new(tls.CertificateVerificationError); errors.As(err, &untrusted) {
		return fmt.Errorf("its certificate is not accepted (%w)", untrusted.Err)
	}
	if err != nil {
		return errors.New("it does not answer")
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		return readRefusal(response)
	}
	if receive == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(receive); err != nil {
		return fmt.Errorf("its answer cannot be read: %w", err)
	}
	return nil
}

// readRefusal reads a Status of k8s.io/apimachinery/pkg/apis/meta/v1, or falls back to the HTTP status.
func readRefusal(response *http.Response) error {
	var status struct{ Message string }
	answer := &refusal{code: response.StatusCode, message: response.Status}
	if err := json.NewDecoder(response.Body).Decode(&status); err == nil && status.Message != "" {
		answer.message = status.Message
	}
	return answer
}
