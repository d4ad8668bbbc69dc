package nodeops

// GPUView is what a node and its Kubernetes Node say of its GPUs.
type GPUView struct {
	Devices             int
	Extensions, Modules []string
	Plugin              string
	Offered             int
}

// Judge says what is wrong with the node.
func (v GPUView) Judge(node GPUNode) error {
	return gpuView{devices: v.Devices, extensions: v.Extensions, modules: v.Modules, plugin: v.Plugin, offered: v.Offered}.judge(node)
}
