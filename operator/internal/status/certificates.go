package status

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math"
	"time"

	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"k8s.io/client-go/tools/clientcmd"
)

// Certificate is a certificate in the administrator's files. It is not renewed automatically (F33).
type Certificate struct {
	// Name of its file: talosconfig or kubeconfig.
	Name string `json:"name"`
	// Begins is when it begins to be valid.
	Begins time.Time `json:"begins"`
	// Ends is when it is no longer valid.
	Ends time.Time `json:"ends"`
}

// renewalDays is how long before its end a certificate gets a warning: the provider renews both certificates with the next up within
// a month of their end (terraform-provider-talos v0.8.0, talos_machine_secrets_resource.go and
// talos_cluster_kubeconfig_resource.go).
const renewalDays = 30

// DaysLeft returns the whole days until its end; negative after its end.
func (c Certificate) DaysLeft(now time.Time) int {
	return int(math.Floor(c.Ends.Sub(now).Hours() / 24))
}

// IsDue reports whether the next up renews it.
func (c Certificate) IsDue(now time.Time) bool { return c.DaysLeft(now) < renewalDays }

// Certificates reads the ends of the client certificates of a talosconfig and a kubeconfig. Its errors quote neither.
func Certificates(talosconfig, kubeconfig []byte) ([]Certificate, error) {
	talos, talosErr := talosCertificate(talosconfig)
	kubernetes, kubernetesErr := kubernetesCertificate(kubeconfig)
	if err := errors.Join(talosErr, kubernetesErr); err != nil {
		return nil, err
	}
	return []Certificate{talos, kubernetes}, nil
}

func talosCertificate(talosconfig []byte) (Certificate, error) {
	config, err := clientconfig.FromBytes(talosconfig)
	if err != nil || config.Contexts[config.Context] == nil {
		return Certificate{}, unreadable("talosconfig")
	}
	certificate, err := base64.StdEncoding.DecodeString(config.Contexts[config.Context].Crt)
	if err != nil {
		return Certificate{}, unreadable("talosconfig")
	}
	return certificateIn("talosconfig", certificate)
}

func kubernetesCertificate(kubeconfig []byte) (Certificate, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil || config.Contexts[config.CurrentContext] == nil {
		return Certificate{}, unreadable("kubeconfig")
	}
	user := config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo]
	if user == nil {
		return Certificate{}, unreadable("kubeconfig")
	}
	return certificateIn("kubeconfig", user.ClientCertificateData)
}

func certificateIn(name string, text []byte) (Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return Certificate{}, unreadable(name)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Certificate{}, unreadable(name)
	}
	return Certificate{Name: name, Begins: certificate.NotBefore, Ends: certificate.NotAfter}, nil
}

func unreadable(name string) error {
	return fmt.Errorf("the stack's output %s holds no client certificate: run `em-infra up` to have it written anew", name)
}
