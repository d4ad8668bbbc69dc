// Package kubernetes runs the Kubernetes control planes of a lab: for each etcd cluster that Talos nodes bootstrap, the
// real etcd, kube-apiserver, kube-controller-manager and kube-scheduler, with the keys and the settings of the applied
// machine configuration; and plays the kubelets of its nodes, whose Pods KWOK plays.
//
// Settings follow Talos v1.12.0; comments name the file, relative to its folder internal/app/machined/pkg/controllers.
// There is one process per component and cluster, however many control planes the cluster has: each running control
// plane forwards its own address to it.
package kubernetes
