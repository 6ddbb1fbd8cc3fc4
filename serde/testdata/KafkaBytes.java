// KafkaBytes prints what Kafka's own serializers write, one "type TAB value TAB hex" line for each row of kafka-bytes.txt.
//
// To run it again, put org.apache.kafka:kafka-clients:4.4.0 and org.apache.kafka:kafka-streams:4.4.0 on the class path, for
// example with a pom.xml that depends on kafka-streams:4.4.0 in an empty directory:
//
//     mvn -q dependency:build-classpath -Dmdep.outputFile=cp.txt
//     java -cp "$(cat cp.txt)" KafkaBytes.java > kafka-bytes.txt
//
// Every value is also read back by Kafka's deserializer here, so that the table holds no bytes that Kafka itself refuses.
// Values are JSON strings (strings, byte arrays as hex, UUIDs), numbers in Java's notation, or "key start end" for windowed
// keys, with the end as Kafka means it: exclusive for time windows, the last timestamp for sessions.

import java.util.Arrays;
import java.util.HexFormat;
import java.util.UUID;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.SessionWindowedDeserializer;
import org.apache.kafka.streams.kstream.SessionWindowedSerializer;
import org.apache.kafka.streams.kstream.TimeWindowedDeserializer;
import org.apache.kafka.streams.kstream.TimeWindowedSerializer;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.kstream.internals.TimeWindow;

public class KafkaBytes {
    static final String[] STRINGS = {
        "", "a", "hello", "caf\u00e9", "\u65e5\u672c\u8a9e", "\ud83d\ude00", "a\u0000b", "line\nbreak", "\"quoted\""
    };
    static final long WINDOW_MS = 60_000;

    public static void main(String[] args) {
        System.out.println("# Written by KafkaBytes.java with Apache Kafka 4.4.0. Do not edit.");
        for (long v : new long[] {0, 1, -1, 42, 255, 256, 1_700_000_000_123L, Long.MAX_VALUE, Long.MIN_VALUE}) {
            row("Long", Serdes.Long(), v, Long.toString(v));
        }
        for (int v : new int[] {0, 1, -1, 42, 255, 256, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
            row("Integer", Serdes.Integer(), v, Integer.toString(v));
        }
        for (double v : new double[] {0, -0.0, 1, -1.5, 0.1, Double.MAX_VALUE, Double.MIN_VALUE, Double.POSITIVE_INFINITY,
                Double.NEGATIVE_INFINITY, Double.NaN}) {
            row("Double", Serdes.Double(), v, Double.toString(v));
        }
        row("Boolean", Serdes.Boolean(), true, "true");
        row("Boolean", Serdes.Boolean(), false, "false");
        for (String v : STRINGS) {
            row("String", Serdes.String(), v, quote(v));
        }
        for (UUID v : new UUID[] {new UUID(0, 0), new UUID(-1, -1), UUID.fromString("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
                new UUID(1, 2), new UUID(Long.MIN_VALUE, Long.MAX_VALUE)}) {
            row("UUID", Serdes.UUID(), v, quote(v.toString()));
        }
        for (String hex : new String[] {"", "00", "ff", "0001feff", "deadbeef"}) {
            byte[] v = HexFormat.of().parseHex(hex);
            byte[] out = Serdes.ByteArray().serializer().serialize("t", v);
            check("ByteArray", Arrays.equals(v, Serdes.ByteArray().deserializer().deserialize("t", out)));
            print("ByteArray", quote(hex), out);
        }
        timeWindows();
        sessions();
    }

    static void timeWindows() {
        long[] starts = {0, WINDOW_MS, 1_700_000_040_000L, Long.MAX_VALUE - WINDOW_MS, Long.MAX_VALUE - WINDOW_MS + 1, Long.MAX_VALUE - 1};
        for (long start : starts) {
            for (String key : STRINGS) {
                long end = start + WINDOW_MS < 0 ? Long.MAX_VALUE : start + WINDOW_MS;
                var v = new Windowed<>(key, new TimeWindow(start, end));
                var ser = new TimeWindowedSerializer<>(Serdes.String().serializer());
                var de = new TimeWindowedDeserializer<>(Serdes.String().deserializer(), WINDOW_MS);
                byte[] out = ser.serialize("t", v);
                check("TimeWindowed " + v, v.equals(de.deserialize("t", out)));
                print("TimeWindowed[String,60000]", quote(key) + " " + start + " " + end, out);
            }
        }
        var v = new Windowed<>(-7L, new TimeWindow(120_000, 180_000));
        byte[] out = new TimeWindowedSerializer<>(Serdes.Long().serializer()).serialize("t", v);
        check("TimeWindowed", v.equals(new TimeWindowedDeserializer<>(Serdes.Long().deserializer(), WINDOW_MS).deserialize("t", out)));
        print("TimeWindowed[Long,60000]", "-7 120000 180000", out);
    }

    static void sessions() {
        long[][] spans = {{0, 0}, {0, 1}, {5, 5}, {1_700_000_000_123L, 1_700_000_009_999L}, {0, Long.MAX_VALUE - 1}};
        for (long[] span : spans) {
            for (String key : STRINGS) {
                var v = new Windowed<>(key, new SessionWindow(span[0], span[1]));
                byte[] out = new SessionWindowedSerializer<>(Serdes.String().serializer()).serialize("t", v);
                var de = new SessionWindowedDeserializer<>(Serdes.String().deserializer());
                check("SessionWindowed " + v, v.equals(de.deserialize("t", out)));
                print("SessionWindowed[String]", quote(key) + " " + span[0] + " " + span[1], out);
            }
        }
        var v = new Windowed<>(-7L, new SessionWindow(120_000, 179_999));
        byte[] out = new SessionWindowedSerializer<>(Serdes.Long().serializer()).serialize("t", v);
        check("SessionWindowed", v.equals(new SessionWindowedDeserializer<>(Serdes.Long().deserializer()).deserialize("t", out)));
        print("SessionWindowed[Long]", "-7 120000 179999", out);
    }

    static <T> void row(String type, Serde<T> serde, T v, String shown) {
        byte[] out = serde.serializer().serialize("t", v);
        check(type + " " + shown, v.equals(serde.deserializer().deserialize("t", out)));
        print(type, shown, out);
    }

    static void print(String type, String value, byte[] out) {
        System.out.println(type + "\t" + value + "\t" + HexFormat.of().formatHex(out));
    }

    static void check(String what, boolean ok) {
        if (!ok) {
            throw new AssertionError(what + " did not come back from Kafka's own deserializer");
        }
    }

    static String quote(String s) {
        var out = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            out.append(c < ' ' || c > '~' || c == '"' || c == '\\' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        }
        return out.append('"').toString();
    }
}
