package streamtest

// Changelog returns the keys of a store's changelog, in order over its only
// partition, with what happened to them. Keys are as users wrote them.
func Changelog(d *Driver, store string) (list []string) {
	log := d.broker.log(d.plan.App+"-"+store+"-changelog", 0)
	for _, r := range log.read(log.start) {
		switch {
		case r.Attrs.IsControl():
		case r.Value == nil:
			list = append(list, string(r.Key)+" deleted")
		default:
			list = append(list, string(r.Key))
		}
	}
	return list
}

// ChangelogLength is how many records a restore from nothing would read.
func ChangelogLength(d *Driver, store string) int { return len(Changelog(d, store)) }

// CloseStep commits while windows close, after every n results; not if n is 0.
func CloseStep(n int) Option {
	if n == 0 {
		return func(*options) {}
	}
	return closeStep(n)
}

// Wipe lets crashes lose the state directory.
func Wipe(o *options) { wipe(o) }

// Try calls f, and returns the error that stopped the app in it, if one did.
func (d *Driver) Try(f func()) error {
	before := d.stopped
	d.expected = true
	f()
	d.expected = false
	if d.stopped == before {
		return nil
	}
	return d.stopped
}
