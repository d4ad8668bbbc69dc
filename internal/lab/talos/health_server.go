package talos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/cluster"
	"github.com/siderolabs/talos/pkg/cluster/check"
	"github.com/siderolabs/talos/pkg/conditions"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	clusterapi "github.com/siderolabs/talos/pkg/machinery/api/cluster"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	clusterres "github.com/siderolabs/talos/pkg/machinery/resources/cluster"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/talos/apid"
)

// clusterServer runs the checks of `talosctl health` with Talos' own code
// (internal/app/machined/internal/server/v1alpha1/v1alpha1_cluster.go).
type clusterServer struct {
	clusterapi.UnimplementedClusterServiceServer

	system *system
}

// HealthCheck waits until one check after the other passes, and reports each to the caller.
func (s *clusterServer) HealthCheck(in *clusterapi.HealthCheckRequest, stream clusterapi.ClusterService_HealthCheckServer) (err error) {
	own := &ownAPI{connect: s.system.connectAPID}
	kubernetes := &cluster.KubernetesClient{ClientProvider: own, ForceEndpoint: in.GetClusterInfo().GetForceEndpoint()}

	defer func() { err = errors.Join(err, kubernetes.K8sClose(), own.Close()) }()

	ctx, cancel := context.WithTimeout(stream.Context(), in.GetWaitTimeout().AsDuration())
	defer cancel()

	md := metadata.New(nil)
	authz.SetMetadata(md, authz.GetRoles(ctx))
	ctx = metadata.NewOutgoingContext(ctx, md)

	nodes, err := s.nodes(ctx, in.GetClusterInfo(), kubernetes)
	if err != nil {
		return err
	}

	checked := struct {
		cluster.ClientProvider
		cluster.K8sProvider
		cluster.Info
	}{own, kubernetes, nodes}

	var addresses []string
	for _, node := range nodes.Nodes() {
		addresses = append(addresses, node.InternalIP.String())
	}

	if err := stream.Send(&clusterapi.HealthCheckProgress{Message: fmt.Sprintf("discovered nodes: %q", addresses)}); err != nil {
		return err
	}

	return check.Wait(ctx, &checked, slices.Concat(check.DefaultClusterChecks(), check.ExtraClusterChecks()), &healthReporter{stream: stream})
}

// connectAPID connects to the node's own front, while it has one.
func (s *system) connectAPID(ctx context.Context) (net.Conn, error) {
	s.mu.Lock()
	front, isAPID := s.front.(*apid.Server)
	s.mu.Unlock()

	if !isAPID {
		return nil, errors.New("apid does not run")
	}

	return front.Connect(ctx)
}

// ownAPI is a client of the node's own apid, which reaches other nodes (pkg/cluster/local.go).
type ownAPI struct {
	connect func(context.Context) (net.Conn, error)
	client  *client.Client
}

// Client implements [cluster.ClientProvider].
func (c *ownAPI) Client(endpoints ...string) (*client.Client, error) {
	if len(endpoints) > 0 {
		return nil, errors.New("custom endpoints not supported with LocalClientProvider")
	}

	if c.client != nil {
		return c.client, nil
	}

	made, err := client.New(context.Background(), client.WithUnixSocket(constants.APISocketPath), client.WithGRPCDialOptions(
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return c.connect(ctx) }),
	))
	if err != nil {
		return nil, err
	}

	c.client = made

	return made, nil
}

// Close implements [cluster.ClientProvider].
func (c *ownAPI) Close() error {
	if c.client == nil {
		return nil
	}

	return c.client.Close()
}

// healthReporter sends each line once.
type healthReporter struct {
	stream clusterapi.ClusterService_HealthCheckServer
	last   string
}

// Update implements [check.Reporter]. A send error is ignored: when the caller is gone, the checks end too.
func (r *healthReporter) Update(condition conditions.Condition) {
	line := strings.TrimSpace(fmt.Sprintf("waiting for %s", condition))
	if line != r.last {
		_ = r.stream.Send(&clusterapi.HealthCheckProgress{Message: line})
		r.last = line
	}
}

// nodes returns the nodes that the caller names, otherwise those of discovery, otherwise those of Kubernetes
// (buildClusterInfo).
func (s *clusterServer) nodes(ctx context.Context, named *clusterapi.ClusterInfo, kubernetes *cluster.KubernetesClient) (cluster.Info, error) {
	if len(named.GetControlPlaneNodes())+len(named.GetWorkerNodes()) > 0 {
		return namedNodes(named)
	}

	members, err := safe.StateListAll[*clusterres.Member](ctx, s.system.resources)
	if err != nil {
		return nil, err
	}

	if members.Len() > 0 {
		var discovered []*clusterres.Member
		for member := range members.All() {
			discovered = append(discovered, member)
		}

		return check.NewDiscoveredClusterInfo(discovered)
	}

	clientset, err := kubernetes.K8sClient(ctx)
	if err != nil {
		return nil, err
	}

	list, err := clientset.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}

	return kubernetesNodes(list.Items)
}

// checkedNodes are the nodes of a cluster by their types.
type checkedNodes map[machine.Type][]cluster.NodeInfo

// Nodes implements [cluster.Info].
func (c checkedNodes) Nodes() []cluster.NodeInfo {
	return slices.Concat(c[machine.TypeControlPlane], c[machine.TypeWorker])
}

// NodesByType implements [cluster.Info].
func (c checkedNodes) NodesByType(t machine.Type) []cluster.NodeInfo { return c[t] }

func namedNodes(named *clusterapi.ClusterInfo) (cluster.Info, error) {
	controlPlanes, err := cluster.IPsToNodeInfos(named.GetControlPlaneNodes())
	if err != nil {
		return nil, err
	}

	workers, err := cluster.IPsToNodeInfos(named.GetWorkerNodes())
	if err != nil {
		return nil, err
	}

	return checkedNodes{machine.TypeControlPlane: controlPlanes, machine.TypeWorker: workers}, nil
}

func kubernetesNodes(nodes []corev1.Node) (cluster.Info, error) {
	found := checkedNodes{}

	for _, node := range nodes {
		var info cluster.NodeInfo

		for _, address := range node.Status.Addresses {
			if address.Type != corev1.NodeInternalIP && address.Type != corev1.NodeExternalIP {
				continue
			}

			ip, err := netip.ParseAddr(address.Address)
			if err != nil {
				return nil, err
			}

			info.IPs = append(info.IPs, ip)
			if address.Type == corev1.NodeInternalIP {
				info.InternalIP = ip
			}
		}

		kind := machine.TypeWorker
		if _, labelled := node.Labels[constants.LabelNodeRoleControlPlane]; labelled {
			kind = machine.TypeControlPlane
		}

		found[kind] = append(found[kind], info)
	}

	return found, nil
}
