package etcdrestore

// Unfinished returns the error of a restore that ends before etcd works.
func (r Restore) Unfinished(why error) error { return r.unfinished(why) }
