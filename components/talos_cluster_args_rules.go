package components

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"

	"github.com/em-infra/em-infra/internal/hostname"
	"github.com/em-infra/em-infra/internal/versions"
)

// requireCanary: with a canary that does not exist, an upgrade would have no first node.
func (args TalosClusterArgs) requireCanary() error {
	there := slices.ContainsFunc(args.Machines, func(m Machine) bool { return m.Name == args.Canary })
	return require(args.Canary == "" || there, "Canary", "there is no machine "+args.Canary+": give the name of one of Machines")
}

// requireMadeTemplates: machines are cloned from the templates and boot their ISOs.
func (args TalosClusterArgs) requireMadeTemplates() error {
	var problems []error
	for i, template := range args.Templates {
		problems = append(problems, template.requireMade(args.Until, fmt.Sprintf("Templates[%d]", i)))
	}
	return errors.Join(problems...)
}

// requireControlPlanes: an even number of etcd members survives no more failures than one less, and Kubernetes advises
// against more than 5.
func requireControlPlanes(machines []Machine) error {
	count := 0
	for _, m := range machines {
		if m.Role == RoleControlPlane {
			count++
		}
	}
	return require(count == 1 || count == 3 || count == 5, "Machines", fmt.Sprintf("%d with RoleControlPlane: give 1, 3 or 5", count))
}

// requireEndpoint: the URL becomes part of a shell command, and of every configuration.
func (args TalosClusterArgs) requireEndpoint() error {
	location := args.Endpoint
	if location == nil {
		return require(false, "Endpoint", "give the URL of the Kubernetes API")
	}
	port, err := strconv.ParseUint(location.Port(), 10, 16)
	plain := url.URL{Scheme: "https", Host: net.JoinHostPort(location.Hostname(), location.Port())}
	holds := err == nil && port > 0 && hostname.IsHost(location.Hostname()) && location.String() == plain.String()
	return require(holds, "Endpoint", fmt.Sprintf("%q is not https://HOST:PORT: give one like https://192.168.20.10:6443", location.Redacted()))
}

// requireKubernetesVersion: the version becomes part of a shell command, and of the names of images.
func (args TalosClusterArgs) requireKubernetesVersion() error {
	if args.KubernetesVersion == "" {
		return require(false, "KubernetesVersion", "give the version, e.g. v1.35.4")
	}
	_, err := versions.Parse(args.KubernetesVersion)
	return require(err == nil, "KubernetesVersion", fmt.Sprintf("%q is not a version: give one like v1.35.4", args.KubernetesVersion))
}

// requireSome refuses a list that is empty, or has a zero value.
func requireSome[Value interface{ IsValid() bool }](values []Value, argument string) error {
	return errors.Join(require(len(values) > 0, argument, "give at least one"), requireValid(values, argument))
}

// requireValid refuses the zero value, such as an address whose parse error was ignored.
func requireValid[Value interface{ IsValid() bool }](values []Value, argument string) error {
	var problems []error
	for i, value := range values {
		problems = append(problems, require(value.IsValid(), fmt.Sprintf("%s[%d]", argument, i), "it is the zero value: parse a text that is valid"))
	}
	return errors.Join(problems...)
}

// requireNoCredentials refuses a URL with credentials, which would be in the state and in the cluster in clear. For ssh, a user name is allowed.
func requireNoCredentials(location *url.URL, argument string) error {
	if location == nil || location.User == nil {
		return nil
	}
	_, password := location.User.Password()
	return require(!password && location.Scheme == "ssh", argument, "it holds credentials: remove them from the URL, and give them as Credentials")
}
