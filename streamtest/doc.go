// Package streamtest tests a topology in memory: no broker, no sleeping, no
// goroutine of yours. It is the real engine that runs (its operators, its
// state, its commits), on a log that is kept in memory and a clock that
// the test moves.
//
//	func TestViewsPerMinute(t *testing.T) {
//		d := streamtest.New(t, topology())
//
//		d.Send(clicks, "ann", Click{Page: "/home"}, noon)
//		d.Send(clicks, "bob", Click{Page: "/home"}, noon.Add(59*time.Second))
//		d.Advance(noon.Add(time.Minute))
//
//		require.Equal(t, []PageViews{{Page: "/home", Views: 2}}, d.Values(pageViews))
//	}
//
// A step of the test, such as Send, returns when everything that follows from it
// has happened: records have passed all repartition topics, windows that are due
// have closed, and a transaction has been committed.
//
// # Time
//
// There are two times. Event time is what records say; it closes windows. It
// moves when records come, on every partition of a source, or by Advance. The
// engine's clock is what idle timeouts, MaxAhead and retries go by; it moves by
// Sleep alone, and so never while a test is being debugged.
//
// # Crashes
//
// An application must come to the same results whatever happens to its
// processes, and a test can make sure that it does. Crash throws away all memory,
// and of the state on disk what was not synced, and takes up the last
// commit. CrashEvery and CommitEvery do so as a matter of course, Rescale moves
// tasks to other workers, and Variants runs one test in all these ways:
//
//	streamtest.Variants(t, func(t *testing.T, vary streamtest.Option) {
//		d := streamtest.New(t, topology(), vary)
//		...
//	})
//
// What a function of the topology does besides returning a value, such as
// counting in a variable, is then seen to happen more than once, as it will
// in production.
//
// # What is not here
//
// Brokers do not fail here, groups do not rebalance by themselves, and topics
// need not exist: a topic is made when it is first used, unless it is Missing.
// Partition counts are what Partitions says.
package streamtest
