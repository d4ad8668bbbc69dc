package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// LoadKubeconfig reads a kubeconfig from a text, or from a path in which ~ is the home folder. For an empty text it returns an
// empty kubeconfig.
func LoadKubeconfig(textOrPath string) (*api.Config, error) {
	if textOrPath == "" {
		return api.NewConfig(), nil
	}
	path := textOrPath
	if path == "~" || strings.HasPrefix(path, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("find the kubeconfig %s: %w", path, err)
		}
		path = filepath.Join(home, path[1:])
	}
	text := []byte(textOrPath)
	if _, err := os.Stat(path); err == nil {
		if text, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return clientcmd.Load(text)
}

// active returns the cluster that the settings select; nil if the kubeconfig does not contain it.
func (s Settings) active() (*api.Cluster, error) {
	config, err := LoadKubeconfig(s.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("failed to parse kubeconfig: %w", err)
	}
	name := s.Cluster
	if name == "" {
		current := s.Context
		if current == "" {
			current = config.CurrentContext
		}
		context := config.Contexts[current]
		if context == nil {
			return nil, nil
		}
		name = context.Cluster
	}
	return config.Clusters[name], nil
}

// SameCluster reports whether two settings select the same cluster, as far as their kubeconfigs show it. It compares addresses and
// authorities, but no credentials of users. It is true if one of the kubeconfigs does not contain the cluster
// (getActiveClusterFromConfig of the official provider).
func SameCluster(one, other Settings) (bool, error) {
	first, err := one.active()
	if err != nil {
		return false, err
	}
	second, err := other.active()
	if err != nil {
		return false, err
	}
	if first == nil || second == nil {
		return true, nil
	}
	return first.Server == second.Server && first.TLSServerName == second.TLSServerName &&
		first.InsecureSkipTLSVerify == second.InsecureSkipTLSVerify &&
		first.CertificateAuthority == second.CertificateAuthority &&
		string(first.CertificateAuthorityData) == string(second.CertificateAuthorityData) &&
		first.ProxyURL == second.ProxyURL && first.DisableCompression == second.DisableCompression, nil
}

// loader returns the kubeconfig with the overrides of the settings.
func (s Settings) loader(namespace string) (clientcmd.ClientConfig, error) {
	overrides := &clientcmd.ConfigOverrides{
		CurrentContext: s.Context, Context: api.Context{Cluster: s.Cluster, Namespace: namespace},
	}
	if s.Kubeconfig == "" {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides), nil
	}
	config, err := LoadKubeconfig(s.Kubeconfig)
	if err != nil {
		return nil, err
	}
	return clientcmd.NewDefaultClientConfig(*config, overrides), nil
}
