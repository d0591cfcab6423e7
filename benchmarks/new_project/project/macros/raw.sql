{% macro first_rows() %}
    {% do run_query("create schema if not exists raw") %}
    {% set orders %}
        select
            id as order_id, id % 1000 as customer_id, id % 200 as product_id,
            date_add(date '2026-01-01', cast(id / 100 as int)) as ordered_on,
            cast(id % 90 + 10 as decimal(10, 2)) as amount, if(id % 17 = 0, 'returned', 'done') as status
        from range(10000)
    {% endset %}
    {% set customers = "select id as customer_id, concat('c', id) as name, concat('r', id % 12) as region from range(1000)" %}
    {% set products %}
        select
            id as product_id, concat('p', id) as title, concat('k', id % 15) as category,
            cast(id % 40 + 5 as decimal(10, 2)) as price
        from range(200)
    {% endset %}
    {% for name, query in {"orders": orders, "customers": customers, "products": products}.items() %}
        {% do run_query("create table raw." ~ name ~ " using iceberg as " ~ query) %}
    {% endfor %}
{% endmacro %}

{#- A day: 100 new orders, five customers that moved, and every other day one new price. -#}
{% macro next_day(day) %}
    {% set orders %}
        insert into raw.orders
        select
            10000 + {{ day }} * 100 + id, (id * 7 + {{ day }}) % 1000, id % 200,
            date_add(date '2026-04-11', {{ day }}), cast(id % 90 + 10 as decimal(10, 2)), 'done'
        from range(100)
    {% endset %}
    {% do run_query(orders) %}
    {% set customers %}
        update raw.customers set region = concat('r', (customer_id + {{ day }}) % 12)
        where customer_id between {{ day * 10 }} and {{ day * 10 + 4 }}
    {% endset %}
    {% do run_query(customers) %}
    {% if day % 2 == 0 %}
        {% do run_query("update raw.products set price = price + 1 where product_id = " ~ day) %}
    {% endif %}
{% endmacro %}
