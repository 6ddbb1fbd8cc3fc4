package weir;

import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.Repartitioned;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStore;

/**
 * One workload on Kafka Streams, until the process is told to stop. Arguments: workload, broker, input topic, output
 * topic, application id, state directory, MiB of record cache.
 */
public final class KStreams {
    private static final Serde<byte[]> BYTES = Serdes.ByteArray();
    private static final Duration WINDOW = Duration.ofSeconds(10);
    private static final Duration GRACE = Duration.ofSeconds(5);

    private KStreams() {
    }

    public static void main(String[] args) {
        Properties settings = settings(args[1], args[4], args[5], Long.parseLong(args[6]) << 20);
        KafkaStreams streams = new KafkaStreams(topology(args[0], args[2], args[3], settings), settings);
        streams.setUncaughtExceptionHandler(e -> {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
            return null;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(30))));
        streams.start();
    }

    private static Topology topology(String workload, String in, String out, Properties settings) {
        StreamsBuilder builder = new StreamsBuilder();
        KStream<byte[], byte[]> input = builder.stream(in, Consumed.with(BYTES, BYTES));
        switch (workload) {
            case "a" -> input.mapValues(KStreams::flipped).to(out, Produced.with(BYTES, BYTES));
            case "b" -> input.groupByKey(Grouped.with(BYTES, BYTES))
                .windowedBy(TimeWindows.ofSizeAndGrace(WINDOW, GRACE))
                .count(Materialized.<byte[], Long, WindowStore<Bytes, byte[]>>as("counts")
                    .withKeySerde(BYTES).withValueSerde(Serdes.Long()).withRetention(Duration.ofSeconds(30)))
                .toStream()
                .to(out, Produced.with(WindowedSerdes.timeWindowedSerdeFrom(byte[].class, WINDOW.toMillis()), Serdes.Long()));
            case "c" -> input.selectKey((key, value) -> Arrays.copyOf(value, 8))
                .repartition(Repartitioned.<byte[], byte[]>as("by-user")
                    .withKeySerde(BYTES).withValueSerde(BYTES).withNumberOfPartitions(4))
                .groupByKey(Grouped.with(BYTES, BYTES))
                .count(Materialized.<byte[], Long, KeyValueStore<Bytes, byte[]>>as("counts")
                    .withKeySerde(BYTES).withValueSerde(Serdes.Long()))
                .toStream()
                .to(out, Produced.with(BYTES, Serdes.Long()));
            default -> throw new IllegalArgumentException(workload);
        }
        return builder.build(settings);
    }

    /** A new value that differs from v in the last byte. */
    private static byte[] flipped(byte[] v) {
        byte[] flipped = v.clone();
        flipped[flipped.length - 1] ^= 1;
        return flipped;
    }

    /** Larger fetches, polls and batches than the defaults, as an operator who measures would set them. */
    private static Properties settings(String broker, String id, String directory, long cache) {
        Properties p = new Properties();
        p.put(StreamsConfig.APPLICATION_ID_CONFIG, id);
        p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, broker);
        p.put(StreamsConfig.STATE_DIR_CONFIG, directory);
        p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        p.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
        p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        p.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, cache);
        p.put(StreamsConfig.TOPOLOGY_OPTIMIZATION_CONFIG, StreamsConfig.OPTIMIZE);
        p.put(StreamsConfig.BUFFERED_RECORDS_PER_PARTITION_CONFIG, 4000);
        p.put(StreamsConfig.consumerPrefix(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG), "earliest");
        p.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_POLL_RECORDS_CONFIG), 4000);
        p.put(StreamsConfig.consumerPrefix(ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG), 2 << 20);
        p.put(StreamsConfig.consumerPrefix(ConsumerConfig.RECEIVE_BUFFER_CONFIG), 1 << 20);
        p.put(StreamsConfig.consumerPrefix(ConsumerConfig.CHECK_CRCS_CONFIG), false);
        p.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 256 << 10);
        p.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 100);
        p.put(StreamsConfig.producerPrefix(ProducerConfig.BUFFER_MEMORY_CONFIG), 64L << 20);
        p.put(StreamsConfig.producerPrefix(ProducerConfig.SEND_BUFFER_CONFIG), 1 << 20);
        return p;
    }
}
