// Package kubernetes runs the Kubernetes control planes of a lab. For each etcd cluster that Talos nodes bootstrap, it runs
// the real etcd, kube-apiserver, kube-controller-manager and kube-scheduler, with the keys and settings of the applied
// machine configuration. It simulates the kubelets of the nodes; KWOK simulates their Pods.
//
// Settings follow Talos v1.12.0; comments name the file, relative to its folder internal/app/machined/pkg/controllers. There
// is one process per component and cluster, even if the cluster has several control planes: each running control plane
// forwards its own address to it.
package kubernetes
