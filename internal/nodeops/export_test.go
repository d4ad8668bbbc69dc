package nodeops

import "net/http"

// GPUView is what a node and its Kubernetes Node say of its GPUs.
type GPUView struct {
	Devices             []string
	Extensions, Modules []string
	Plugin              string
	Offered             int
}

// Judge says what is wrong with the node.
func (v GPUView) Judge(node GPUNode) error {
	return gpuView{talos: "v1.12.4", devices: v.Devices, extensions: v.Extensions, modules: v.Modules, plugin: v.Plugin, offered: v.Offered}.judge(node)
}

// KubernetesOf is the API behind a client.
func KubernetesOf(client *http.Client) *Kubernetes {
	return &Kubernetes{location: "https://control-1:6443", client: client}
}
