package release

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/downloader"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/registry"
	"helm.sh/helm/v3/pkg/repo"
)

// load finds the chart, downloads it if it is not a path, and reads it. It downloads missing dependencies if the inputs ask for
// that. Otherwise missing dependencies are an error.
func (r *Releases) load(in inputs) (*chart.Chart, string, error) {
	client, err := r.registryClient(in.RepositoryOpts)
	if err != nil {
		return nil, "", err
	}
	path, err := r.locate(in, client)
	if err != nil {
		return nil, "", err
	}
	loaded, err := loader.Load(path)
	if err != nil {
		return nil, "", err
	}
	err = action.CheckDependencies(loaded, loaded.Metadata.Dependencies)
	if err == nil || !in.DependencyUpdate {
		return loaded, path, err
	}
	manager := downloader.Manager{
		Out: os.Stderr, ChartPath: path, Keyring: in.Keyring, Getters: getter.All(r.settings), RegistryClient: client,
		RepositoryConfig: r.settings.RepositoryConfig, RepositoryCache: r.settings.RepositoryCache,
	}
	if err := manager.Update(); err != nil {
		return nil, "", err
	}
	loaded, err = loader.Load(path)
	return loaded, path, err
}

// locate returns the path of the chart on this machine.
func (r *Releases) locate(in inputs, client *registry.Client) (string, error) {
	install := action.NewInstall(&action.Configuration{})
	install.SetRegistryClient(client)
	options := &install.ChartPathOptions
	options.Version, options.Keyring, options.Verify = strings.TrimSpace(in.Version), in.Keyring, in.Verify
	if options.Version == "" && in.Devel {
		options.Version = ">0.0.0-0"
	}
	name, from := strings.TrimSpace(in.Chart), in.RepositoryOpts
	if from == nil || registry.IsOCI(name) {
		if from != nil {
			options.Username, options.Password = from.Username, from.Password
		}
		return options.LocateChart(name, r.settings)
	}
	options.CaFile, options.CertFile, options.KeyFile = from.CAFile, from.CertFile, from.KeyFile
	options.Username, options.Password = from.Username, from.Password
	if _, err := url.ParseRequestURI(from.Repo); err != nil {
		if from.Repo != "" && !strings.Contains(name, "/") {
			name = from.Repo + "/" + name // a repository that `helm repo add` knows
		}
		return options.LocateChart(name, r.settings)
	}
	// The address is looked up here, because Helm itself would use a local folder with the chart's name.
	address, err := repo.FindChartInAuthAndTLSAndPassRepoURL(from.Repo, from.Username, from.Password, name,
		options.Version, from.CertFile, from.KeyFile, from.CAFile, false, false, getter.All(r.settings))
	if err != nil {
		return "", err
	}
	if !sameHost(from.Repo, address) {
		options.Username, options.Password = "", "" // a password is only for the repository
	}
	return options.LocateChart(address, r.settings)
}

func sameHost(one, other string) bool {
	first, err := url.Parse(one)
	if err != nil {
		return false
	}
	second, err := url.Parse(other)
	return err == nil && first.Scheme == second.Scheme && first.Host == second.Host
}

// isInstallable returns an error for a library chart.
func isInstallable(loaded *chart.Chart) error {
	if kind := loaded.Metadata.Type; kind != "" && kind != "application" {
		return fmt.Errorf("%s charts are not installable", kind)
	}
	return nil
}

// httpClient returns a client that trusts the repository's own authority and presents its certificate.
func (r *repository) httpClient() (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.CAFile != "" {
		text, err := os.ReadFile(r.CAFile)
		if err != nil {
			return nil, fmt.Errorf("repositoryOpts.caFile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("repositoryOpts.caFile: %s holds no certificate", r.CAFile)
		}
	}
	if r.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(r.CertFile, r.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("repositoryOpts.certFile: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}}, nil
}
