package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// Connection is the connection to a cluster, which may have been unreachable when the provider was configured.
type Connection struct {
	Settings  Settings
	Namespace string // for objects without a namespace

	// Unreachable is the reason why the cluster cannot be used; empty if it can. Like the official provider, this one does not fail
	// then, because previews and removals from the state must still work.
	Unreachable string

	config    *rest.Config
	dynamic   dynamic.Interface
	discovery discovery.CachedDiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
}

// Connect creates the clients and asks the API server once for its schema.
func Connect(ctx context.Context, settings Settings) *Connection {
	c := &Connection{Settings: settings}
	loader, err := settings.loader(settings.Namespace)
	if err != nil {
		c.Unreachable = fmt.Sprintf("failed to parse kubeconfig data in `kubernetes:config:kubeconfig`- %v", err)
		return c
	}
	if namespace, _, err := loader.Namespace(); err == nil {
		c.Namespace = namespace
	}
	if c.config, err = loader.ClientConfig(); err != nil {
		c.Unreachable = fmt.Sprintf("unable to load Kubernetes client configuration from kubeconfig file: %v", err)
		return c
	}
	settings.Client.apply(c.config)
	if err := c.open(ctx); err != nil {
		c.Unreachable = fmt.Sprintf("unable to load schema information from the API server: %v", err)
	}
	return c
}

func (s ClientSettings) apply(config *rest.Config) {
	config.Burst, config.QPS = 120, 50
	config.WarningHandler = rest.NoWarnings{}
	if s.Burst != nil {
		config.Burst = *s.Burst
	}
	if s.QPS != nil {
		config.QPS = float32(*s.QPS)
	}
	if s.Timeout != nil {
		config.Timeout = time.Duration(*s.Timeout) * time.Second
	}
}

// open creates the clients. The official provider needs the schema to validate objects. If a cluster does not return it, the
// cluster counts as unreachable.
func (c *Connection) open(ctx context.Context) error {
	plain, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfig(c.config); err != nil {
		return err
	}
	c.discovery = memory.NewMemCacheClient(plain)
	c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(c.discovery)
	const schema = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	return plain.RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", schema).Do(ctx).Error()
}

// Mapping returns the resource of a kind. If the kind is unknown, Mapping looks for it once more in a fresh discovery, since its
// definition may be newer than the last one. If it is still unknown, the error is one of meta.IsNoMatchError.
func (c *Connection) Mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if c.mapper == nil {
		return nil, &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}
	}
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	return mapping, err
}

// Forget makes the next Mapping read the cluster's definitions again.
func (c *Connection) Forget() { c.mapper.Reset() }

// Objects returns the client of the objects of a kind in a namespace. A cluster-wide kind ignores the namespace.
func (c *Connection) Objects(kind schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := c.Mapping(kind)
	if err != nil {
		return nil, err
	}
	objects := c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return objects, nil
	}
	if namespace == "" {
		namespace = "default"
	}
	return objects.Namespace(namespace), nil
}

// Getter returns Helm's access to the cluster. Objects of charts that name no namespace go to the given one.
func (c *Connection) Getter(namespace string) Getter {
	return Getter{connection: c, namespace: namespace}
}

// Getter implements Helm's and kubectl's RESTClientGetter.
type Getter struct {
	connection *Connection
	namespace  string
}

// ToRESTConfig returns a copy of the connection's configuration.
func (g Getter) ToRESTConfig() (*rest.Config, error) {
	if g.connection.config == nil {
		return nil, errors.New(g.connection.Unreachable)
	}
	return rest.CopyConfig(g.connection.config), nil
}

// ToDiscoveryClient returns a client with its own cache, since a chart may contain definitions.
func (g Getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	config, err := g.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return memory.NewMemCacheClient(client), nil
}

// ToRESTMapper returns a mapper with its own discovery.
func (g Getter) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := g.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(client), client, nil), nil
}

// ToRawKubeConfigLoader returns the kubeconfig. If it could not be read, the result is empty.
func (g Getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	loader, err := g.connection.Settings.loader(g.namespace)
	if err != nil {
		return &clientcmd.DefaultClientConfig
	}
	return loader
}
