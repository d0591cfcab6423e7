"""The properties of Spark's functions, by name. A function in none of these sets is not a built-in function."""

from __future__ import annotations


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


VOLATILE = _names("""
    curdate current_catalog current_database current_date current_schema current_time current_timestamp current_timezone
    current_user input_file_block_length input_file_block_start input_file_name localtimestamp
    monotonically_increasing_id now rand randn random randstr session_user shuffle spark_partition_id uniform user uuid
    version
""")
"""Functions whose values depend on the time, the session, chance, or the place of execution."""

WITHOUT_PARENTHESES = _names("current_date current_time current_timestamp current_user session_user user")
"""Volatile functions that can be called without parentheses, unless a column has the same name."""

NOT_DETERMINISTIC = _names("""
    aes_encrypt assert_true java_method python_worker_logs raise_error reflect try_reflect
""")
"""Other functions that Spark does not consider deterministic."""

CLOCK_MARKS = _names("""
    ip_clock_date ip_clock_local ip_clock_text_now ip_clock_text_today ip_clock_text_tomorrow ip_clock_text_yesterday
    ip_clock_timestamp
""")
"""The marks of ``clock`` in the places of calls that read the clock."""

UNSUPPORTED_AGGREGATES = _names("""
    approx_top_k approx_top_k_accumulate approx_top_k_combine bitmap_construct_agg count_min_sketch measure
""")
"""Aggregates among the unsupported functions."""

UNSUPPORTED = UNSUPPORTED_AGGREGATES | _names("""
    collate collations range session_window sql_keywords window window_time
""")
"""Deterministic functions whose affected rows are not known: any change affects all rows.

Texts that are equal by a collation can differ, so that a group has several possible keys.
"""

EXACT_AGGREGATES = _names("""
    any approx_count_distinct bit_and bit_or bit_xor bitmap_and_agg bitmap_or_agg bool_and bool_or count count_if every
    max median min percentile percentile_cont percentile_disc regr_count some
""")
"""Aggregates with the same value for the same rows in any order."""

OF_EQUAL = _names("max median min percentile percentile_cont percentile_disc")
"""Exact aggregates that return one of several equal values, such as 0.0 or -0.0."""

EQUAL_OF_EQUAL = _names("""
    abs any_value avg bigint boolean bround ceil ceiling coalesce count count_if decimal double first first_value float
    floor greatest if ifnull int isnan isnotnull isnull lag last last_value lead least max mean median min negative
    nth_value nullif nullifzero nvl nvl2 percentile percentile_cont percentile_disc positive round sign signum smallint
    sqrt sum tinyint try_avg try_sum zeroifnull
""")
"""Functions that return equal values for equal arguments. Functions of text, for example, do not."""

SUMS = _names("avg mean sum try_avg try_sum")
"""Aggregates with the same value in any order if their sums are exact. Sums of floating-point numbers are rounded."""

INEXACT_AGGREGATES = _names("""
    any_value approx_percentile array_agg collect_list collect_set corr covar_pop covar_samp first first_value
    histogram_numeric hll_sketch_agg hll_union_agg kurtosis last last_value listagg max_by min_by mode percentile_approx
    product regr_avgx regr_avgy regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness std stddev
    stddev_pop stddev_samp string_agg var_pop var_samp variance kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float schema_of_variant_agg
    theta_intersection_agg theta_sketch_agg theta_union_agg
""")
"""Aggregates whose value may depend on the order in which Spark reads the rows."""

ROUNDING = _names("""
    corr covar_pop covar_samp kurtosis product regr_avgx regr_avgy regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
    regr_syy skewness std stddev stddev_pop stddev_samp var_pop var_samp variance
""")
"""Inexact aggregates whose value depends on this order only by rounding."""

AGGREGATES = EXACT_AGGREGATES | SUMS | INEXACT_AGGREGATES

EXACT_IN_WINDOWS = _names("cume_dist dense_rank percent_rank rank")
"""Window functions with the same value for rows that are equal in the window's ORDER BY."""

INEXACT_IN_WINDOWS = _names("first_value lag last_value lead nth_value ntile row_number")
"""Window functions that choose among rows that are equal in the window's ORDER BY."""

GENERATORS = _names("""
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack variant_explode
    variant_explode_outer
""")
"""Functions that return several rows for one row."""

SCALARS = _names("""
    abs acos acosh add_months aes_decrypt aggregate approx_top_k_estimate array array_append array_compact
    array_contains array_distinct array_except array_insert array_intersect array_join array_max array_min
    array_position array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap
    arrays_zip ascii asin asinh atan atan2 atanh base64 bigint bin binary bit_count bit_get bit_length
    bitmap_bit_position bitmap_bucket_number bitmap_count boolean bround btrim cardinality cast cbrt ceil ceiling
    char char_length character_length chr coalesce collation concat concat_ws contains conv convert_timezone cos
    cosh cot crc32 csc date date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd
    datediff datepart day dayname dayofmonth dayofweek dayofyear decimal decode degrees div double e element_at elt
    encode endswith equal_null exists exp expm1 extract factorial filter find_in_set flatten float floor forall
    format_number format_string from_avro from_csv from_json from_protobuf from_unixtime from_utc_timestamp from_xml
    get get_json_object getbit greatest grouping grouping_id hash hex hll_sketch_estimate hll_union hour hypot if
    ifnull ilike initcap instr int is_valid_utf8 is_variant_null isnan isnotnull isnull json_array_length
    json_object_keys kll_sketch_get_n_bigint kll_sketch_get_n_double kll_sketch_get_n_float
    kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double kll_sketch_get_quantile_float
    kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint
    kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint kll_sketch_to_string_double
    kll_sketch_to_string_float last_day lcase least left len length levenshtein like ln locate log log10 log1p log2
    lower lpad ltrim luhn_check make_date make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz
    make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat map_contains_key map_entries map_filter
    map_from_arrays map_from_entries map_keys map_values map_zip_with mask md5 minute mod month monthname
    months_between named_struct nanvl negative next_day not nullif nullifzero nvl nvl2 octet_length overlay
    parse_json parse_url pi pmod position positive pow power printf quarter quote radians reduce regexp regexp_count
    regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse
    right rint rlike round rpad rtrim schema_of_avro schema_of_csv schema_of_json schema_of_variant schema_of_xml
    sec second sentences sequence sha sha1 sha2 shiftleft shiftright shiftrightunsigned sign signum sin sinh size
    slice smallint sort_array soundex space split split_part sqrt st_asbinary st_geogfromwkb st_geomfromwkb
    st_setsrid st_srid startswith str_to_map string struct substr substring substring_index tan tanh
    theta_difference theta_intersection theta_sketch_estimate theta_union time time_diff time_trunc timestamp
    timestamp_micros timestamp_millis timestamp_seconds timestampadd timestampdiff tinyint to_avro to_binary to_char
    to_csv to_date to_json to_number to_protobuf to_time to_timestamp to_timestamp_ltz to_timestamp_ntz
    to_unix_timestamp to_utc_timestamp to_varchar to_variant_object to_xml transform transform_keys transform_values
    translate trim trunc try_add try_aes_decrypt try_divide try_element_at try_make_interval try_make_timestamp
    try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply try_parse_json try_parse_url try_subtract
    try_to_binary try_to_date try_to_number try_to_time try_to_timestamp try_url_decode try_validate_utf8
    try_variant_get typeof ucase unbase64 unhex unix_date unix_micros unix_millis unix_seconds unix_timestamp upper
    url_decode url_encode validate_utf8 variant_get weekday weekofyear width_bucket xpath xpath_boolean xpath_double
    xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string xxhash64 year zeroifnull zip_with
""")
"""Functions of one row whose value depends only on their arguments."""

OF_ARGUMENTS = _names("""
    array array_append array_compact array_distinct array_except array_insert array_intersect array_max array_min
    array_prepend array_remove array_repeat array_sort array_union coalesce decode element_at elt explode flatten get
    greatest if ifnull lag lead least map map_concat map_entries map_from_arrays map_keys map_values max min
    named_struct nullif nvl nvl2 slice sort_array string struct try_element_at
""")
"""Functions whose result consists of their arguments, or of parts of them."""

WITHOUT_TEXT = _names("""
    bigint binary boolean convert_timezone date_trunc dateadd decimal float from_utc_timestamp localtimestamp
    make_dt_interval make_interval make_timestamp make_timestamp_ltz make_timestamp_ntz make_ym_interval sequence
    smallint timestamp timestamp_micros timestamp_millis timestamp_seconds timestampadd tinyint to_binary to_number
    to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_make_interval
    try_make_timestamp try_to_binary try_to_date try_to_number try_to_timestamp unix_timestamp
""")
"""Functions without text in their result whose type ``types.Types`` does not know."""

OF_TEXT = _names("""
    any_value approx_count_distinct array_agg array_compact array_distinct array_join array_max array_min array_repeat
    array_size ascii base64 bit_length btrim cardinality char_length character_length collect_list collect_set concat
    concat_ws contains count crc32 endswith explode explode_outer find_in_set first first_value flatten format_string
    get_json_object hash hex ilike initcap inline inline_outer instr isnotnull isnull json_array_length last last_value
    lcase left len length levenshtein like listagg locate lower lpad ltrim map_entries map_keys map_values mask max
    max_by md5 min min_by mode named_struct octet_length overlay parse_url posexplode posexplode_outer position printf
    quote regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr
    repeat replace reverse right rlike rpad rtrim sha sha1 sha2 size slice sort_array soundex split split_part
    startswith string string_agg struct substr substring substring_index to_json translate trim typeof ucase unbase64
    unhex upper url_decode url_encode xxhash64
""")
"""Functions that cast no text to a time."""

OF_ONE_TYPE = _names("""
    array array_append array_contains array_except array_insert array_intersect array_position array_prepend
    array_remove array_sort array_union arrays_overlap coalesce decode element_at elt equal_null get greatest if ifnull
    lag lead least map map_concat map_contains_key map_from_arrays nth_value nullif nvl nvl2 try_element_at
""")
"""Functions that cast no text to a time, unless another argument has a type with times."""
