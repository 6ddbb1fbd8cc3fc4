package streamtest

import "testing"

// Variants runs test as a subtest for each of several ways to run an app that
// must not change its results: with crashes, rare commits, little memory, several
// workers. Hand vary on to New, last, and compare what is Received with one
// and the same list:
//
//	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
//		d := streamtest.New(t, topology(), vary)
//		...
//	})
//
// Updates of tables are the exception: there is one for each row and commit.
func Variants(t *testing.T, test func(t *testing.T, vary Option)) {
	t.Helper()
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) { test(t, all(v.opts...)) })
	}
}

var variants = []struct {
	name string
	opts []Option
}{
	{"plain", nil},
	{"crash after every step", []Option{CrashEvery(1)}},
	{"crash and lose the disk", []Option{CrashEvery(1), wipe}},
	{"commit rarely", []Option{CommitEvery(1000)}},
	{"commit rarely and crash", []Option{CommitEvery(3), CrashEvery(2), Seed(2)}},
	{"no cache", []Option{Cache(0)}},
	{"no cache and crash", []Option{Cache(0), CrashEvery(3), Seed(3)}},
	{"three workers", []Option{Workers(3), CommitEvery(2)}},
	{"commit within closings and crash", []Option{closeStep(1), CrashEvery(2), Seed(4)}},
}

func wipe(o *options) { o.wipe = true }

// closeStep commits while windows close, after every n results.
func closeStep(n int) Option { return func(o *options) { o.closeStep, o.between = n, true } }

func all(opts ...Option) Option {
	return func(o *options) {
		for _, opt := range opts {
			opt(o)
		}
	}
}
