package kubernetes

import (
	"github.com/siderolabs/talos/pkg/machinery/config"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// access is the lab's own access to an API server, as an administrator whose certificate belongs to the same keys.
type access struct {
	rest  *rest.Config
	admin *kubernetes.Clientset
}

// current returns the access to the API server that the gate leads to.
func (p *controlPlane) current() (access, error) { return p.accessWith(p.currentKeys()) }

// currentKeys returns the keys of that API server.
func (p *controlPlane) currentKeys() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		if s.ready {
			return s.keys
		}
	}
	return p.keys
}

// accessWith returns the access with the keys of this fingerprint, which are mounted.
func (p *controlPlane) accessWith(keys string) (access, error) {
	p.accessLock.Lock()
	defer p.accessLock.Unlock()
	if known, found := p.accesses[keys]; found {
		return known, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", p.folderOf(keys).secret("admin.kubeconfig"))
	if err != nil {
		return access{}, err
	}
	admin, err := newClient(config)
	if err != nil {
		return access{}, err
	}
	p.accesses[keys] = access{rest: config, admin: admin}
	return p.accesses[keys], nil
}

// currentConfig returns the machine configuration with the keys of the API server that the gate leads to.
func (p *controlPlane) currentConfig() config.Provider {
	keys := p.currentKeys()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.others {
		if other.keys == keys {
			return other.config
		}
	}
	return p.nodes[0].Config
}
