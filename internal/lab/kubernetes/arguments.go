package kubernetes

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/siderolabs/talos/pkg/argsbuilder"
	"github.com/siderolabs/talos/pkg/machinery/config"
)

// The arguments are those of Talos' static pods (k8s/control_plane_static_pod.go), merged with the extra arguments of the
// machine configuration by the same rules. After them come the changes for a lab, each with its reason.

// nodeSelector is the label of the Nodes whose Pods KWOK simulates. A kubelet sets it when it registers, and the lab removes
// it when the kubelet stops.
const nodeSelector = kubeletLabel + "=" + kubeletRuns

// deny marks arguments that a machine configuration must not set.
func deny(policies argsbuilder.MergePolicies, names ...string) argsbuilder.MergePolicies {
	for _, name := range names {
		policies[name] = argsbuilder.MergeDenied
	}
	return policies
}

func apiServerArguments(cfg config.Provider, f folder, p ports, port uint16, advertise netip.Addr) ([]string, error) {
	args := apiServerDefaults(cfg, f)
	policies := deny(argsbuilder.MergePolicies{
		"enable-admission-plugins": argsbuilder.MergeAdditive, "feature-gates": argsbuilder.MergeAdditive,
		"authorization-mode": argsbuilder.MergeAdditive, "tls-cipher-suites": argsbuilder.MergeAdditive,
	}, "etcd-servers", "client-ca-file", "requestheader-client-ca-file", "proxy-client-cert-file", "proxy-client-key-file",
		"encryption-provider-config", "etcd-cafile", "etcd-certfile", "etcd-keyfile", "kubelet-client-certificate",
		"kubelet-client-key", "service-account-key-file", "service-account-signing-key-file", "tls-cert-file",
		"tls-private-key-file", "authorization-config")
	extra := cfg.Cluster().APIServer().ExtraArgs()
	if err := args.Merge(extra, argsbuilder.WithMergePolicies(policies)); err != nil {
		return nil, fmt.Errorf("arguments of kube-apiserver: %w", err)
	}
	for name := range extra {
		if name == "authorization-mode" || strings.HasPrefix(name, "authorization-webhook-") {
			delete(args, "authorization-config") // the two exclude each other
			args.Set("authorization-mode", mergedModes(extra["authorization-mode"]))
		}
	}
	// The control planes forward their own addresses to this one.
	args.Set("bind-address", "127.0.0.1").Set("secure-port", strconv.Itoa(int(port)))
	args.Set("etcd-servers", "https://"+local(p.etcdClient).String())
	// Endpoints reject loopback addresses, and the nodes have no others.
	args.Set("endpoint-reconciler-type", "none").Set("advertise-address", advertise.String())
	// Limit the size of a log that is not read.
	args.Set("audit-log-path", f.path("audit.log")).Set("audit-log-maxsize", "10").Set("audit-log-maxbackup", "1")
	return args.Args(), nil
}

// mergedModes returns Talos' own authorization modes, followed by those of the machine configuration.
func mergedModes(extra string) string {
	modes := "Node,RBAC"
	for mode := range strings.SplitSeq(extra, ",") {
		if mode = strings.TrimSpace(mode); mode != "" && mode != "Node" && mode != "RBAC" {
			modes += "," + mode
		}
	}
	return modes
}

// cipherSuites are those that Talos allows. The suites of TLS 1.2 are for older clients.
const cipherSuites = "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256," +
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305," +
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256," +
	"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"

func apiServerDefaults(cfg config.Provider, f folder) argsbuilder.Args {
	cluster := cfg.Cluster()
	endpoint := cluster.Endpoint().String()
	return argsbuilder.Args{
		"admission-control-config-file":      f.setting("admission-control-config.yaml"),
		"allow-privileged":                   "true",
		"anonymous-auth":                     "false",
		"api-audiences":                      endpoint,
		"audit-log-maxage":                   "30",
		"audit-policy-file":                  f.setting("auditpolicy.yaml"),
		"authorization-config":               f.setting("authorization-config.yaml"),
		"client-ca-file":                     f.secret("ca.crt"),
		"enable-admission-plugins":           "NodeRestriction",
		"enable-bootstrap-token-auth":        "true",
		"encryption-provider-config":         f.secret("encryptionconfig.yaml"),
		"etcd-cafile":                        f.secret("etcd-ca.crt"),
		"etcd-certfile":                      f.secret("etcd-client.crt"),
		"etcd-keyfile":                       f.secret("etcd-client.key"),
		"kubelet-client-certificate":         f.secret("apiserver-kubelet-client.crt"),
		"kubelet-client-key":                 f.secret("apiserver-kubelet-client.key"),
		"kubelet-preferred-address-types":    "InternalIP,ExternalIP,Hostname",
		"profiling":                          "false",
		"proxy-client-cert-file":             f.secret("front-proxy-client.crt"),
		"proxy-client-key-file":              f.secret("front-proxy-client.key"),
		"requestheader-allowed-names":        "front-proxy-client",
		"requestheader-client-ca-file":       f.secret("aggregator-ca.crt"),
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-username-headers":     "X-Remote-User",
		"service-account-issuer":             endpoint,
		"service-account-key-file":           f.secret("service-account.pub"),
		"service-account-signing-key-file":   f.secret("service-account.key"),
		"service-cluster-ip-range":           strings.Join(cluster.Network().ServiceCIDRs(), ","),
		"tls-cert-file":                      f.secret("apiserver.crt"),
		"tls-cipher-suites":                  cipherSuites,
		"tls-min-version":                    "VersionTLS12",
		"tls-private-key-file":               f.secret("apiserver.key"),
	}
}

func controllerManagerArguments(cfg config.Provider, f folder, beat heartbeat) ([]string, error) {
	network, kubeconfig := cfg.Cluster().Network(), f.secret("controller-manager.kubeconfig")
	args := argsbuilder.Args{
		"allocate-node-cidrs":              "true",
		"authentication-kubeconfig":        kubeconfig,
		"authorization-kubeconfig":         kubeconfig,
		"cluster-cidr":                     strings.Join(network.PodCIDRs(), ","),
		"cluster-signing-cert-file":        f.secret("issuing-ca.crt"),
		"cluster-signing-key-file":         f.secret("issuing-ca.key"),
		"configure-cloud-routes":           "false",
		"controllers":                      "*,tokencleaner",
		"kubeconfig":                       kubeconfig,
		"profiling":                        "false",
		"root-ca-file":                     f.secret("issuing-ca.crt"),
		"service-account-private-key-file": f.secret("service-account.key"),
		"service-cluster-ip-range":         strings.Join(network.ServiceCIDRs(), ","),
		"tls-min-version":                  "VersionTLS13",
		"use-service-account-credentials":  "true",
	}
	policies := deny(argsbuilder.MergePolicies{
		"service-cluster-ip-range": argsbuilder.MergeAdditive, "controllers": argsbuilder.MergeAdditive,
	}, "cluster-signing-cert-file", "cluster-signing-key-file", "authentication-kubeconfig", "authorization-kubeconfig",
		"root-ca-file", "service-account-private-key-file")
	if err := args.Merge(cfg.Cluster().ControllerManager().ExtraArgs(), argsbuilder.WithMergePolicies(policies)); err != nil {
		return nil, fmt.Errorf("arguments of kube-controller-manager: %w", err)
	}
	alone(args)
	// The time scale also determines when a lost node is detected.
	args.Set("node-monitor-period", beat.monitor.String()).Set("node-monitor-grace-period", beat.grace.String())
	return args.Args(), nil
}

func schedulerArguments(cfg config.Provider, f folder) ([]string, error) {
	kubeconfig := f.secret("scheduler.kubeconfig")
	args := argsbuilder.Args{
		"authentication-kubeconfig":              kubeconfig,
		"authentication-tolerate-lookup-failure": "false",
		"authorization-kubeconfig":               kubeconfig,
		"config":                                 f.setting("scheduler-config.yaml"),
		"profiling":                              "false",
		"tls-min-version":                        "VersionTLS13",
	}
	policies := deny(argsbuilder.MergePolicies{}, "kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "config")
	if err := args.Merge(cfg.Cluster().Scheduler().ExtraArgs(), argsbuilder.WithMergePolicies(policies)); err != nil {
		return nil, fmt.Errorf("arguments of kube-scheduler: %w", err)
	}
	alone(args)
	return args.Args(), nil
}

// alone configures the only instance of a component, which is not probed. It need not wait for the lease of a killed
// predecessor, and several clusters do not compete for one port.
func alone(args argsbuilder.Args) {
	args.Set("leader-elect", "false").Set("secure-port", "0")
}

// memberName is the name of the only member. peerPort is the port of its peers in restored data; a member that starts has another port.
const (
	memberName = "lab"
	peerPort   = 2380
)

// etcdArguments returns the arguments of a single member; the member list of a cluster comes from the Talos nodes. Writes are
// not synced to the disk: they survive the end of the process, and a rehearsal need not survive a crash of the machine.
func etcdArguments(f folder, p ports) []string {
	client, peer := "https://"+local(p.etcdClient).String(), "https://"+local(p.etcdPeer).String()
	return argsbuilder.Args{
		"advertise-client-urls":       client,
		"cert-file":                   f.secret("etcd.crt"),
		"client-cert-auth":            "true",
		"data-dir":                    f.path("etcd"),
		"initial-advertise-peer-urls": peer,
		"initial-cluster":             memberName + "=" + peer,
		"key-file":                    f.secret("etcd.key"),
		"listen-client-urls":          client,
		"listen-peer-urls":            peer,
		"log-level":                   "warn",
		"name":                        memberName,
		"peer-cert-file":              f.secret("etcd.crt"),
		"peer-client-cert-auth":       "true",
		"peer-key-file":               f.secret("etcd.key"),
		"peer-trusted-ca-file":        f.secret("etcd-ca.crt"),
		"trusted-ca-file":             f.secret("etcd-ca.crt"),
		"unsafe-no-fsync":             "true",
	}.Args()
}

func kwokArguments(f folder) []string {
	return argsbuilder.Args{"kubeconfig": f.secret("admin.kubeconfig"), "node-selector": nodeSelector}.Args()
}
